package losses

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/layers"
)

// Term is an addition to a loss: a RowTerm, or another loss with a weight. Name and
// one of Rows and Loss have to be set: the zero value is an error of Op.
type Term struct {
	Name   string
	Rows   RowTerm // nil for a loss
	Loss   Loss
	Weight float64 // of Loss; a RowTerm has its own
}

// check says which field of a term means nothing.
func (t Term) check() error {
	switch {
	case t.Name == "":
		return fmt.Errorf("losses: Term.Name is empty, want a name for the term's parameters")
	case (t.Rows == nil) == (t.Loss == nil):
		return fmt.Errorf("losses: term %s: want one of Term.Rows and Term.Loss, not both or none", t.Name)
	case t.Loss != nil && !(t.Weight >= 0 && t.Weight <= largestField):
		return fmt.Errorf("losses: term %s: Term.Weight is %v, want 0 <= Weight <= %g", t.Name, t.Weight, largestField)
	}
	return nil
}

// MakeTerm makes a term by its name: one of ListTerms, or a loss of List, whose
// further parameter weight (1 by default) multiplies it.
func MakeTerm(name string, o Options) (Term, error) {
	if slices.Contains(termNames(), name) {
		rows, err := NewTerm(name, o.Params)
		return Term{Name: name, Rows: rows}, err
	}
	if !slices.Contains(Names(), name) {
		return Term{}, fmt.Errorf("unknown term %q, want one of %s, or a loss: %s", name, strings.Join(termNames(), ", "), strings.Join(Names(), ", "))
	}
	t := Term{Name: name, Weight: 1}
	if text, ok := o.Params["weight"]; ok {
		w, err := strconv.ParseFloat(text, 64)
		if err != nil || !(w >= 0) || math.IsInf(w, 1) {
			return Term{}, fmt.Errorf("term %s: weight = %q, want a number that is not negative", name, text)
		}
		o.Params = maps.Clone(o.Params)
		delete(o.Params, "weight")
		t.Weight = w
	}
	var err error
	t.Loss, err = New(name, o)
	return t, err
}

// TermNames returns the names that MakeTerm knows: those of ListTerms, then of losses.
func TermNames() []string { return append(termNames(), Names()...) }

// OnWeights reports whether a term is on the weights of the last layer, not on
// embeddings.
func (t Term) OnWeights() bool {
	_, ok := t.Rows.(Orthogonality)
	return ok
}

// NewTerm makes a term on rows by its name on the command line.
func NewTerm(name string, params map[string]string) (RowTerm, error) {
	for _, e := range terms() {
		if e.name != name {
			continue
		}
		v, err := readValues(e.settings, params, yardstick{})
		if err != nil {
			return nil, fmt.Errorf("term %s: %w", name, err)
		}
		return e.build(v), nil
	}
	return nil, fmt.Errorf("unknown term %q, want one of %s", name, strings.Join(termNames(), ", "))
}

// ListTerms describes all terms on rows. Columns means nothing to them.
func ListTerms() []Info {
	var infos []Info
	for _, e := range terms() {
		infos = append(infos, Info{Name: e.name, Meaning: e.meaning, Source: e.source, Params: paramInfos(e.settings)})
	}
	return infos
}

// termEntry is a row of the table of terms on rows.
type termEntry struct {
	name, meaning, source string
	settings              []setting
	build                 func(v values) RowTerm
}

// terms is the one table of terms on rows by name.
func terms() []termEntry {
	weight := between("weight", "of the term in the loss", 1, 0, math.Inf(1), false, true)
	return []termEntry{
		{
			name: "sec", meaning: "all embeddings of a batch of one length (spherical embedding constraint)",
			source: "Zhang et al. 2020, Eq. 8; chapter 16.2.6",
			settings: []setting{weight,
				between("momentum", "of the average length; 1 takes the batch's own", 1, 0, 1, true, false)},
			build: func(v values) RowTerm {
				return &SEC{Weight: v.real("weight"), Momentum: v.real("momentum"), asSet: true}
			},
		},
		{
			name: "norm", meaning: "short embeddings: mean squared length", source: "weight decay on the embedding",
			settings: []setting{weight},
			build:    func(v values) RowTerm { return &SEC{L2: v.real("weight"), asSet: true} },
		},
		{
			name: "zero-mean", meaning: "mean embedding of a batch at the origin", source: "centering",
			settings: []setting{weight},
			build:    func(v values) RowTerm { return ZeroMean{Weight: v.real("weight"), asSet: true} },
		},
		{
			name: "mdr", meaning: "distances of a batch near a few learned levels (multi-level distance regularization)",
			source: "Kim and Park 2021",
			settings: []setting{
				between("weight", "of the term in the loss; 0.6 for CUB, 0.2 for Cars, 0.1 for SOP and In-shop", .6, 0, math.Inf(1), false, true),
				between("nu", "of the squared levels", .01, 0, math.Inf(1), false, true),
				between("momentum", "of mean and deviation of distances; 1 takes the batch's own", .1, 0, 1, true, false),
				whole("levels", "how many, at first 3 apart", 3, 1, mostLevels),
				yesNo("scaled", "divide rows by the mean of their distances first", true)},
			build: func(v values) RowTerm {
				return &MDR{Weight: v.real("weight"), Nu: v.real("nu"), Momentum: v.real("momentum"), Levels: v.int("levels"), Scaled: v.on("scaled"), asSet: true}
			},
		},
		{
			name: "orthogonality", meaning: "rows of the projection orthonormal; acts on the head's weights", source: "BRM Sect. 3.1",
			settings: []setting{weight},
			build:    func(v values) RowTerm { return Orthogonality{Weight: v.real("weight"), asSet: true} },
		},
	}
}

// paperTerm is the term that NewTerm makes by default.
func paperTerm[T RowTerm](name string) (T, error) {
	term, err := NewTerm(name, nil)
	if err != nil {
		var none T
		return none, err
	}
	return term.(T), nil
}

func termNames() []string {
	var names []string
	for _, e := range terms() {
		names = append(names, e.name)
	}
	return names
}

// termPrefix begins the name of every parameter that belongs to a term.
const termPrefix = ParamPrefix + "terms."

// TermRowsParam is the parameter that a term over Classes compares with.
func TermRowsParam(name string) string { return termPrefix + name + ".proxies" }

// term adds one term to the graph.
func (n *Node) term(g *layers.Graph, t Term, e *layers.Node, o OpOptions) (*layers.Node, error) {
	name, prefix := "term "+t.Name, termPrefix+t.Name+"."
	if t.Rows == nil {
		h := hosted{name: name, prefix: prefix, loss: t.Loss, weight: t.Weight, matrix: new(Matrix), result: new(Result)}
		return n.add(g, h, TermRowsParam(t.Name), e, o)
	}
	x, what := o.Raw, "the embeddings before normalization"
	if t.OnWeights() {
		x, what = o.Weights, "the weights of a linear layer at the model's end, which this model does not have"
	}
	if x == nil {
		return nil, fmt.Errorf("losses: term %s is on %s", t.Name, what)
	}
	rows, dim := x.Shape()[0], x.Shape()[1]
	own := newOwned(g, prefix, Parameters(t.Rows), 1)
	n.onHost = true
	return g.HostLoss(name, func(values, grads [][]float64) (float64, error) {
		grad := grads[0]
		if grad == nil { // a frozen layer
			grad = make([]float64, len(values[0]))
		}
		if !finite(values[0]) {
			clear(grad)
			return math.NaN(), nil
		}
		own.before(values)
		value, err := t.Rows.EvalRows(values[0], rows, dim, grad)
		if err != nil {
			return 0, err
		}
		return value, own.after(g, grads, 1)
	}, append([]*layers.Node{x}, own.nodes...)...), g.Err()
}
