package losses

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses/structure"
	"github.com/vernier-ml/vernier/metric"
)

// Term is an addition to a loss: a RowTerm, a term on several representations of a batch,
// or another loss with a weight. Name and one of Rows, Batch and Loss have to be set: the
// zero value is an error of Op.
type Term struct {
	Name   string
	Rows   RowTerm
	Batch  structure.Term
	Loss   Loss
	Weight float64 // of Loss; the others have their own
}

// check says which field of a term means nothing.
func (t Term) check() error {
	switch {
	case t.Name == "":
		return fmt.Errorf("losses: Term.Name is empty, want a name for the term's parameters")
	case t.kinds() != 1:
		return fmt.Errorf("losses: term %s: want one of Term.Rows, Term.Batch and Term.Loss, not several or none", t.Name)
	case t.Loss != nil && !(t.Weight >= 0 && t.Weight <= largestField):
		return fmt.Errorf("losses: term %s: Term.Weight is %v, want 0 <= Weight <= %g", t.Name, t.Weight, largestField)
	}
	return nil
}

// kinds counts the fields that are set.
func (t Term) kinds() (n int) {
	for _, set := range []bool{t.Rows != nil, t.Batch != nil, t.Loss != nil} {
		if set {
			n++
		}
	}
	return n
}

// OnFeatures reports whether a term looks at what the head is given, OpOptions.Features.
func (t Term) OnFeatures() bool { return t.looksAt(structure.Features, structure.Structure) }

// OnClassRows reports whether a term looks at the class rows of the loss beside it, which
// then needs some.
func (t Term) OnClassRows() bool { return t.looksAt(structure.Cosines) }

func (t Term) looksAt(kinds ...structure.Kind) bool {
	return t.Batch != nil && slices.ContainsFunc(t.Batch.Kinds(), func(k structure.Kind) bool { return slices.Contains(kinds, k) })
}

// MakeTerm makes a term by its name: one of ListTerms or ListBatchTerms, or a loss of List, whose
// further parameter weight (1 by default) multiplies it.
func MakeTerm(name string, o Options) (Term, error) {
	for _, e := range batchTerms() {
		if e.name != name {
			continue
		}
		v, err := readValues(e.settings, o.Params, yardstick{})
		if err != nil {
			return Term{}, fmt.Errorf("term %s: %w", name, err)
		}
		return Term{Name: name, Batch: e.build(v)}, nil
	}
	if slices.Contains(rowTermNames(), name) {
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

// TermNames returns the names that MakeTerm knows: those of ListTerms and ListBatchTerms,
// then of losses.
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
	return nil, fmt.Errorf("unknown term %q, want one of %s", name, strings.Join(rowTermNames(), ", "))
}

// ListTerms describes all terms on rows. Columns means nothing to them.
func ListTerms() []Info {
	var infos []Info
	for _, e := range terms() {
		infos = append(infos, Info{Name: e.name, Meaning: e.meaning, Source: e.source, Params: paramInfos(e.settings)})
	}
	return infos
}

// ListBatchTerms describes all terms on several representations of a batch.
func ListBatchTerms() []Info {
	var infos []Info
	for _, e := range batchTerms() {
		infos = append(infos, Info{Name: e.name, Meaning: e.meaning, Source: e.source, Params: paramInfos(e.settings)})
	}
	return infos
}

// batchEntry is a row of the table of terms on several representations.
type batchEntry struct {
	name, meaning, source string
	settings              []setting
	build                 func(v values) structure.Term
}

// batchTerms is the one table of terms on several representations by name.
func batchTerms() []batchEntry {
	above := func(name, meaning string, v float64) setting {
		return between(name, meaning, v, 0, math.Inf(1), true, true)
	}
	return []batchEntry{
		{
			name: "jrd", meaning: "rows of different classes apart in features, embeddings and cosines to classes together (joint representation diversification)",
			source: "Chu et al. 2020",
			settings: []setting{
				above("weight", "of the term in the loss", 1),
				whole("features", "kernels on features", 3, 1, mostKernels),
				whole("embeddings", "kernels on embeddings", 3, 1, mostKernels),
				whole("cosines", "kernels on cosines to class rows", 1, 1, mostKernels),
				above("spread", "factor from one kernel's bandwidth to the next", 2)},
			build: func(v values) structure.Term {
				return structure.JRD{Weight: v.real("weight"), Kernels: [3]int{v.int("features"), v.int("embeddings"), v.int("cosines")}, Spread: v.real("spread")}
			},
		},
		{
			name: "nasa", meaning: "each row's own weighted distances to others near one of two levels (neighborhood-adaptive structure)",
			source: "Li et al. 2022",
			settings: []setting{
				above("weight", "of the term in the loss", 2),
				above("deviations", "of distances between their mean and the lower level", 3),
				above("sharpness", "of the choice between levels", 10)},
			build: func(v values) structure.Term {
				return structure.NASA{Weight: v.real("weight"), Deviations: v.real("deviations"), Sharpness: v.real("sharpness")}
			},
		},
	}
}

// mostKernels is far more than bandwidths that differ.
const mostKernels = 20

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
	names := rowTermNames()
	for _, e := range batchTerms() {
		names = append(names, e.name)
	}
	return names
}

func rowTermNames() []string {
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
	if t.Batch != nil {
		return n.batchTerm(g, t, e, o)
	}
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

// batchTerm adds a term on several representations.
func (n *Node) batchTerm(g *layers.Graph, t Term, e *layers.Node, o OpOptions) (*layers.Node, error) {
	name, kinds := "term "+t.Name, t.Batch.Kinds()
	in, views := make([]*layers.Node, len(kinds)), make([]structure.View, len(kinds))
	for i, kind := range kinds {
		var lacks string
		switch kind {
		case structure.Features:
			in[i], lacks = o.Features, "what the model's head is given"
		case structure.Raw:
			in[i], lacks = o.Raw, "the embeddings before normalization"
		case structure.Compared:
			in[i] = e
		case structure.Cosines:
			if lacks = "class rows, which the loss beside it does not have: want one such as cosface"; n.classRows != nil {
				in[i] = g.Pairwise(name+" cosine", e, n.classRows, metric.Metric{Kind: metric.Cosine})
			}
		case structure.Structure:
			if lacks = "what the model's head is given"; o.Features != nil {
				in[i] = structure.Head(g, o.Features, structure.HeadWidth, e.Shape()[1])
			}
		}
		if err := g.Err(); err != nil {
			return nil, err
		}
		if in[i] == nil {
			return nil, fmt.Errorf("losses: term %s is on %s", t.Name, lacks)
		}
		views[i].Dim = in[i].Shape()[1]
	}
	n.onHost = true
	return g.HostLoss(name, func(values, grads [][]float64) (float64, error) {
		for i := range views {
			views[i].X, views[i].Grad = values[i], grads[i]
			if !finite(values[i]) { // the graph then looks for the node that made it
				for _, grad := range grads {
					clear(grad)
				}
				return math.NaN(), nil
			}
		}
		value, err := t.Batch.Eval(n.matrix.RowLabels, views)
		if err != nil {
			err = fmt.Errorf("losses: %w", err)
		}
		return value, err
	}, in...), g.Err()
}
