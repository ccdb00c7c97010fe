package tpe

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// Kind says which values a parameter takes.
type Kind uint8

const (
	Uniform Kind = iota // any number from Low to High
	Log                 // the same, its logarithm uniform at first
	Int                 // whole numbers from Low to High
	Choice              // 0 to N-1, without an order
)

// Param is a dimension of a search space.
type Param struct {
	Name      string
	Kind      Kind
	Low, High float64 // ends of the range, both included
	N         int     // choices
	// Active says, from the values of parameters before it, whether the parameter is
	// there; nil for always.
	Active func(before map[string]float64) bool
}

// Space is a list of parameters. Conditions look at parameters before them.
type Space []Param

// Validate says what is wrong with the space.
func (s Space) Validate() error {
	seen := map[string]bool{}
	for _, p := range s {
		switch {
		case seen[p.Name]:
			return fmt.Errorf("parameter %q is there twice", p.Name)
		case p.Kind > Choice:
			return fmt.Errorf("parameter %q: unknown kind %d", p.Name, p.Kind)
		case p.Kind == Choice && p.N < 1:
			return fmt.Errorf("parameter %q: %d choices", p.Name, p.N)
		case p.Kind == Choice:
		case !(p.Low < p.High) || math.IsInf(p.High-p.Low, 0):
			return fmt.Errorf("parameter %q: a range from %v to %v", p.Name, p.Low, p.High)
		case p.Kind == Log && p.Low <= 0:
			return fmt.Errorf("parameter %q: the logarithm of %v", p.Name, p.Low)
		case p.Kind == Int && (p.Low != math.Trunc(p.Low) || p.High != math.Trunc(p.High)):
			return fmt.Errorf("parameter %q: a range of whole numbers from %v to %v", p.Name, p.Low, p.High)
		}
		seen[p.Name] = true
	}
	return nil
}

// interval is the range in which a parameter is searched: of logarithms, and of whole
// numbers with half of one on each side.
func (p Param) interval() (low, high float64) {
	switch p.Kind {
	case Log:
		return math.Log(p.Low), math.Log(p.High)
	case Int:
		return p.Low - .5, p.High + .5
	}
	return p.Low, p.High
}

// inward brings a value to where it is searched, from 0 to 1.
func (p Param) inward(v float64) float64 {
	if p.Kind == Log {
		v = math.Log(v)
	}
	low, high := p.interval()
	return (v - low) / (high - low)
}

// outward is the inverse of inward, within the range.
func (p Param) outward(u float64) float64 {
	low, high := p.interval()
	v := low + u*(high-low)
	switch p.Kind {
	case Log:
		v = math.Exp(v)
	case Int:
		v = math.Round(v)
	}
	return min(max(v, p.Low), p.High)
}

// draw is a value without knowledge.
func (p Param) draw(r *rand.Rand) float64 {
	if p.Kind == Choice {
		return float64(r.IntN(p.N))
	}
	return p.outward(r.Float64())
}

func (p Param) active(before map[string]float64) bool { return p.Active == nil || p.Active(before) }

// Trial is a point that was tried.
type Trial struct {
	Params map[string]float64 // of the active parameters
	Value  float64            // larger is better; NaN counts as the worst
	// Rank orders trials before their values do: of those that were stopped early, the
	// share that was done; 1 for a whole one.
	Rank float64
}

// Random draws the point of the given number. The draw of a parameter depends on seed,
// number and its name alone: spaces that share parameters share their values, so that
// variants of which one has a parameter more begin alike.
func Random(s Space, seed uint64, number int) map[string]float64 {
	at := map[string]float64{}
	for _, p := range s {
		if p.active(at) {
			at[p.Name] = p.draw(source(seed, number, p.Name))
		}
	}
	return at
}

// source is the randomness for the point of a number, or for one parameter of it.
func source(seed uint64, number int, of string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(of))
	return rand.New(rand.NewPCG(seed^h.Sum64(), 0x747065<<32|uint64(number)))
}
