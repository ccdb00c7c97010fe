package metric

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

var (
	restrictionNames = [...]string{Sigmoid: "sigmoid", SoftSign: "softsign", ArcTan: "arctan", TanH: "tanh", ISRU: "isru"}
	metricNames      = [...]string{BRM: "brm", Euclidean: "euclidean", SquaredEuclidean: "sqeuclidean", Manhattan: "manhattan", Cosine: "cosine", Dot: "dot",
		SignalToNoise: "snr", Poincare: "poincare", Lorentz: "lorentz"}
	linksName = "links"
)

// String returns the restriction's name: sigmoid, softsign, arctan, tanh or isru.
func (r Restriction) String() string {
	if int(r) < len(restrictionNames) {
		return restrictionNames[r]
	}
	return fmt.Sprintf("Restriction(%d)", uint8(r))
}

// ParseRestriction is the inverse of Restriction.String.
func ParseRestriction(name string) (Restriction, error) {
	if i := slices.Index(restrictionNames[:], name); i >= 0 {
		return Restriction(i), nil
	}
	return 0, fmt.Errorf("unknown restriction %q, want one of %s", name, strings.Join(restrictionNames[:], ", "))
}

// String returns the family's name: brm, euclidean, sqeuclidean, manhattan,
// cosine, dot, snr, poincare or lorentz.
func (k Kind) String() string {
	if k == Links {
		return linksName
	}
	if int(k) < len(metricNames) {
		return metricNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Validate returns an error that names the field at fault of a metric that
// cannot be evaluated.
func (m Metric) Validate() error {
	switch {
	case m.Kind == Links:
		return ErrLinks
	case int(m.Kind) >= len(metricNames):
		return fmt.Errorf("metric kind %d is unknown, the last is %d (%v)", m.Kind, Lorentz, Lorentz)
	case m.hyperbolic():
		return m.validateHyperbolic()
	case m.Kind != BRM:
		return nil
	case int(m.Restriction) >= len(restrictionNames):
		return fmt.Errorf("metric brm: restriction %d is unknown, the last is %d (%v)", m.Restriction, ISRU, ISRU)
	case m.P != 1 && m.P != 2:
		return fmt.Errorf("metric brm: p is %d, want 1 or 2", m.P)
	case m.Restriction == ISRU && !validOmega(m.Omega):
		return fmt.Errorf("metric brm: omega of isru is %v, want a positive finite number", m.Omega)
	}
	return nil
}

// ErrLinks says that rows are compared by a model with all that it learned.
var ErrLinks = errors.New("metric links is the distance along the links of a model with levels, which needs the whole model and both images' certainties: rows alone do not give it, and only training and the figures of retrieval (eval) compute it")

func validOmega(omega float64) bool { return omega > 0 && !math.IsInf(omega, 1) }

// Canonical clears the fields that do not matter to m, so that metrics with
// equal values compare equal with ==: what belongs to metrics of other kinds,
// Omega where the restriction is not ISRU, Power at p = 1.
func (m Metric) Canonical() Metric {
	if m.hyperbolic() {
		return Metric{Kind: m.Kind, Curvature: m.Curvature, Clip: m.Clip}
	}
	if m.Kind != BRM {
		return Metric{Kind: m.Kind}
	}
	m.Curvature, m.Clip = 0, 0
	if m.Restriction != ISRU {
		m.Omega = 0
	}
	if m.P == 1 {
		m.Power = false
	}
	return m
}

// String returns the shortest text that Parse maps to m.Canonical():
// "euclidean", "sqeuclidean", "manhattan", "cosine", "dot", "snr", "brm" (sigmoid,
// p = 2), or brm with what differs from that: "brm:tanh,p=1", "brm:isru,omega=0.5,power";
// likewise "poincare", "poincare:c=1,clip=0".
func (m Metric) String() string {
	m = m.Canonical()
	if m.hyperbolic() {
		return m.hyperbolicString()
	}
	if m.Kind != BRM {
		return m.Kind.String()
	}
	var options []string
	if m.Restriction != Sigmoid {
		options = append(options, m.Restriction.String())
	}
	if m.Restriction == ISRU && m.Omega != 1 {
		options = append(options, "omega="+strconv.FormatFloat(m.Omega, 'g', -1, 64))
	}
	if m.P != 2 {
		options = append(options, "p="+strconv.Itoa(m.P))
	}
	if m.Power {
		options = append(options, "power")
	}
	if len(options) == 0 {
		return "brm"
	}
	return "brm:" + strings.Join(options, ",")
}

// Parse reads a metric's name. Any BRM option may be left out: the
// restriction is sigmoid, p is 2, omega is 1 and the value is D (not D^p) by
// default. So may those of the hyperbolic metrics: c is 0.1 and clip 2.3 for
// poincare, 1 and 0 (none) for lorentz. The result is canonical and valid.
func Parse(text string) (Metric, error) {
	name, options, hasOptions := strings.Cut(text, ":")
	if text == linksName {
		return Metric{}, ErrLinks
	}
	i := slices.Index(metricNames[:], name)
	if i < 0 {
		return Metric{}, fmt.Errorf("unknown metric %q, want one of %s (brm takes options: %s; poincare and lorentz take %s)", text, strings.Join(metricNames[:], ", "), brmUsage(), hyperbolicUsage)
	}
	m := Metric{Kind: Kind(i)}
	if m.hyperbolic() {
		m = defaultHyperbolic(m.Kind)
		if hasOptions {
			if err := m.setHyperbolic(options); err != nil {
				return Metric{}, fmt.Errorf("metric %q: %w", text, err)
			}
		}
		return m, nil
	}
	if m.Kind != BRM {
		if hasOptions {
			return Metric{}, fmt.Errorf("metric %q: %s takes no options", text, name)
		}
		return m, nil
	}
	m.P = 2
	if hasOptions {
		if err := m.setOptions(options); err != nil {
			return Metric{}, fmt.Errorf("metric %q: %w", text, err)
		}
	}
	return m.Canonical(), nil
}

// setOptions reads BRM's comma-separated options, each at most once.
func (m *Metric) setOptions(options string) error {
	seen := map[string]bool{}
	for option := range strings.SplitSeq(options, ",") {
		key, text, hasValue := strings.Cut(strings.TrimSpace(option), "=")
		name := key
		switch {
		case hasValue && key == "p":
			if text != "1" && text != "2" {
				return fmt.Errorf("p is %q, want 1 or 2", text)
			}
			m.P = int(text[0] - '0')
		case hasValue && key == "omega":
			omega, err := strconv.ParseFloat(text, 64)
			if err != nil || !validOmega(omega) {
				return fmt.Errorf("omega is %q, want a positive finite number", text)
			}
			m.Omega = omega
		case !hasValue && key == "power":
			m.Power = true
		default:
			r, err := ParseRestriction(key)
			if err != nil || hasValue {
				return fmt.Errorf("unknown option %q, want %s", option, brmUsage())
			}
			m.Restriction, name = r, "restriction"
		}
		if seen[name] {
			return fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
	}
	switch {
	case m.Restriction != ISRU && seen["omega"]:
		return fmt.Errorf("omega belongs to isru, the restriction is %v", m.Restriction)
	case m.Restriction == ISRU && !seen["omega"]:
		m.Omega = 1
	}
	return nil
}

func brmUsage() string {
	return strings.Join(restrictionNames[:], "|") + ", p=1|2, omega=NUMBER (isru only), power; as in brm:isru,omega=0.5,p=2,power"
}
