package eval

import (
	"fmt"
	"strconv"
	"strings"
)

// RuleKind is a way to choose a threshold.
type RuleKind uint8

const (
	EqualErrors  RuleKind = iota // FAR = FRR
	TargetFAR                    // the largest threshold within Rule.FAR
	BestAccuracy                 // on the pairs at hand
	BestFBeta                    // of Rule.Beta
	SmallestCost                 // expected, of Rule.Costs
)

// Rule says how a threshold is chosen from a ROC.
type Rule struct {
	Kind  RuleKind
	FAR   float64 // of TargetFAR
	Beta  float64 // of BestFBeta
	Costs Costs   // of SmallestCost
}

// RuleForms are what ParseRule takes.
const RuleForms = "eer, far=RATE, accuracy, fbeta=BETA, cost:prior=P,accept=COST,reject=COST"

// ParseRule reads one of RuleForms. The costs are 1 unless given; the prior,
// the share of same pairs in practice, has to be.
func ParseRule(text string) (Rule, error) {
	name, rest, colon := strings.Cut(text, ":")
	if colon {
		if name != "cost" {
			return Rule{}, fmt.Errorf("rule %q: there is %s", text, RuleForms)
		}
		return parseCosts(text, rest)
	}
	name, value, given := strings.Cut(text, "=")
	switch {
	case name == "eer" && !given:
		return Rule{Kind: EqualErrors}, nil
	case name == "accuracy" && !given:
		return Rule{Kind: BestAccuracy}, nil
	case name == "far" && given:
		far, err := strconv.ParseFloat(value, 64)
		if err != nil || !(far > 0 && far < 1) {
			return Rule{}, fmt.Errorf("rule %q: want a rate between 0 and 1, such as far=0.001", text)
		}
		return Rule{Kind: TargetFAR, FAR: far}, nil
	case name == "fbeta":
		beta := 1.0
		if given {
			var err error
			if beta, err = strconv.ParseFloat(value, 64); err != nil || !(beta > 0 && beta <= 1e6) {
				return Rule{}, fmt.Errorf("rule %q: want a beta above 0, up to 1e6, such as fbeta=0.5", text)
			}
		}
		return Rule{Kind: BestFBeta, Beta: beta}, nil
	}
	return Rule{}, fmt.Errorf("rule %q: there is %s", text, RuleForms)
}

func parseCosts(text, options string) (Rule, error) {
	c := Costs{FalseAccept: 1, FalseReject: 1}
	for _, option := range strings.Split(options, ",") {
		name, value, _ := strings.Cut(option, "=")
		into, ok := map[string]*float64{"prior": &c.Prior, "accept": &c.FalseAccept, "reject": &c.FalseReject}[name]
		if !ok {
			return Rule{}, fmt.Errorf("rule %q: %q is not one of prior, accept and reject", text, name)
		}
		var err error
		if *into, err = strconv.ParseFloat(value, 64); err != nil {
			return Rule{}, fmt.Errorf("rule %q: %s is not a number: %q", text, name, value)
		}
	}
	if err := c.validate(); err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", text, err)
	}
	return Rule{Kind: SmallestCost, Costs: c}, nil
}

// String is the form that ParseRule reads.
func (r Rule) String() string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	switch r.Kind {
	case TargetFAR:
		return "far=" + number(r.FAR)
	case BestAccuracy:
		return "accuracy"
	case BestFBeta:
		return "fbeta=" + number(r.Beta)
	case SmallestCost:
		return "cost:prior=" + number(r.Costs.Prior) + ",accept=" + number(r.Costs.FalseAccept) + ",reject=" + number(r.Costs.FalseReject)
	}
	return "eer"
}

// Calibrate chooses a threshold by a rule.
func (r *ROC) Calibrate(rule Rule) (Decision, error) {
	switch rule.Kind {
	case EqualErrors:
		return r.ByEER(), nil
	case TargetFAR:
		return r.ByFAR(rule.FAR)
	case BestAccuracy:
		return r.ByAccuracy(), nil
	case BestFBeta:
		return r.ByFBeta(rule.Beta)
	case SmallestCost:
		d, _, err := r.ByCost(rule.Costs)
		return d, err
	}
	return Decision{}, fmt.Errorf("eval: unknown rule %d", rule.Kind)
}
