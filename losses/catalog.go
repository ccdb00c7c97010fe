package losses

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/internal/registry"
	"github.com/vernier-ml/vernier/metric"
)

// Options says for which metric a loss is made and what differs from its
// defaults. Metric has to be set, since the zero metric.Metric is none.
type Options struct {
	// Metric must be valid; its values are what the loss will see.
	Metric metric.Metric
	// Scale is the embedding scale c of metric.Metric.SphereValue, from which
	// default margins and views are computed; 0 means 1.
	Scale float64
	// Classes is the number of training classes. Only losses with parameters or
	// divisors of their own for each class ask for it.
	Classes int
	// Dim is the dimension of the embedding, 2 or more. Only what counts on the density of
	// distances on a sphere asks for it.
	Dim int
	// Params sets parameters by name. Margins may carry a unit: see List. What the names
	// and values mean to a loss of a program's own is that loss's matter.
	Params map[string]string
}

// Info describes a loss on one metric.
type Info struct {
	Name    string  `json:"name"`
	Meaning string  `json:"meaning"` // one line
	Source  string  `json:"source"`  // where the loss comes from
	Columns Columns `json:"columns"`
	// Layered says that the loss has layers of its own, see Layered.
	Layered bool        `json:"layered,omitempty"`
	Params  []ParamInfo `json:"params"`
}

// ParamInfo describes a parameter. Margins (Margin set) are numbers in the
// unit of the loss's values or carry one of the metric: 0.4B of its bound, 0.5D0
// of its value between unrelated embeddings, 0.7sphere for what lies 0.7 apart
// on the unit sphere.
type ParamInfo struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
	Default string `json:"default"`
	Range   string `json:"range"`
	Margin  bool   `json:"margin"`
}

// New makes a loss by its name on the command line. Unknown names and
// parameters, and values out of range for the metric, are errors that say what
// is allowed.
func New(name string, o Options) (Loss, error) {
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("losses: %w", err)
	}
	if own, ok := registered.Get(name); ok {
		return makeOwn(name, own, o)
	}
	for _, row := range catalog() {
		if row.name != name {
			continue
		}
		l, err := row.make(o).new(o)
		if err != nil {
			return nil, fmt.Errorf("loss %s on %v: %w", name, o.Metric, err)
		}
		return l, nil
	}
	return nil, fmt.Errorf("unknown loss %q, want one of %s", name, strings.Join(Names(), ", "))
}

// Names returns the names that New knows, in the order of List: first those of this
// package, then those that Register added.
func Names() []string { return append(builtIn(), registered.Names()...) }

// Registered returns the names that Register added.
func Registered() []string { return registered.Names() }

// Effective returns every parameter that New would give the loss of that name,
// defaults included and margins as numbers in the unit of the loss, so that a
// run can say what it was made with. New takes the result back. Of a loss that Register
// added it returns the type of what New makes and its
// exported fields that are not zero.
func Effective(name string, o Options) (map[string]string, error) {
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("losses: %w", err)
	}
	if own, ok := registered.Get(name); ok {
		l, err := makeOwn(name, own, o)
		if err != nil {
			return nil, err
		}
		for v, ok := l.(*viewed); ok; v, ok = l.(*viewed) {
			l = v.loss
		}
		return registry.Fields(l), nil
	}
	rows := catalog()
	i := slices.IndexFunc(rows, func(r constructor) bool { return r.name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown loss %q, want one of %s", name, strings.Join(Names(), ", "))
	}
	e := rows[i].make(o)
	v, err := readValues(e.settings, o.Params, yardstick{o.Metric, o.Scale, e.view})
	if err != nil {
		return nil, fmt.Errorf("loss %s on %v: %w", name, o.Metric, err)
	}
	all := make(map[string]string, len(e.settings))
	for _, s := range e.settings {
		switch x := v.at[s.name]; s.kind {
		case choice:
			all[s.name] = s.choices[int(x)]
		case toggle:
			all[s.name] = strconv.FormatBool(x != 0)
		default:
			all[s.name] = strconv.FormatFloat(x, 'g', -1, 64)
		}
	}
	return all, nil
}

// List describes all losses on a metric at embedding scale c (0 means 1).
func List(m metric.Metric, c float64) ([]Info, error) {
	o, err := Options{Metric: m, Scale: c}.complete()
	if err != nil {
		return nil, fmt.Errorf("losses: %w", err)
	}
	var infos []Info
	for _, row := range catalog() {
		e := row.make(o)
		infos = append(infos, Info{Name: row.name, Meaning: e.meaning, Source: e.source, Columns: e.columns, Layered: e.layered, Params: paramInfos(e.settings)})
	}
	return append(infos, listOwn(o)...), nil
}

// Register makes a loss of a program's own known by a name, under which the settings of
// a run, New and MakeTerm find it like those of this package. A program that resumes
// the run registers the loss again before it does so. A miner of a program's own comes
// with the loss that it is a field of:
//
//	losses.Register("triplet-mine", func(o losses.Options) (losses.Loss, error) {
//		return &losses.Triplet{Margin: 0.1, Miner: miner{}}, nil
//	})
//
// make returns a new loss in each call, with nothing in it that depends on what happened
// before: New is called anew for each part of a run. It reads o.Params, if the loss
// has parameters, and refuses what it does not know. Where the loss is written in
// another unit than the metric's own, make returns it behind a view (On).
//
// Names have lower-case letters, digits and hyphens. Register panics where the name is
// malformed or taken, or make is nil. It may be called by several goroutines.
func Register(name string, make func(o Options) (Loss, error)) {
	if make == nil {
		panic(fmt.Sprintf("losses.Register: the function that makes %q is nil", name))
	}
	registered.Add("losses.Register", name, make, slices.Concat(builtIn(), termNames()))
}

// constructor is a row of the table of losses.
type constructor struct {
	name string
	make func(Options) entry
}

// catalog is the one table of losses by name, in the order in which a user
// should meet them. Each function is beside the loss that it makes.
func catalog() []constructor {
	return []constructor{
		{"contrastive", contrastiveEntry},
		{"triplet", tripletEntry},
		{"npairs", npairsEntry},
		{"proxy-anchor", proxyAnchorEntry},
		{"multi-similarity", multiSimilarityEntry},
		{"ntxent", ntXentEntry},
		{"supcon", supConEntry},
		{"pairwise-cross-entropy", pairwiseCrossEntropyEntry},
		{"circle", circleEntry},
		{"lifted", liftedEntry},
		{"generalized-lifted", generalizedLiftedEntry},
		{"margin", marginEntry},
		{"angular", angularEntry},
		{"quadruplet", quadrupletEntry},
		{"fastap", fastAPEntry},
		{"histogram", histogramEntry},
		{"nca", ncaEntry},
		{"proxy-nca", proxyNCAEntry},
		{"soft-triple", softTripleEntry},
		{"normalized-softmax", normalizedSoftmaxEntry},
		{"softmax", softmaxEntry},
		{"cosface", cosFaceEntry},
		{"arcface", arcFaceEntry},
		{"center", centerEntry},
		{"triplet-bound", tripletBoundEntry},
		{"spread-out", spreadOutEntry},
		{"ibc", ibcEntry},
		{"avsl", avslEntry},
	}
}

// entry says how a loss is made for one metric.
type entry struct {
	meaning, source string
	columns         Columns
	view            View
	layered         bool
	shifts          bool              // a shift of all values changes nothing, so that constants for q are those for s
	viewOf          func(values) View // in place of view, where parameters choose it
	settings        []setting
	build           func(v values) (Loss, error)
}

func (e entry) new(o Options) (Loss, error) {
	v, err := readValues(e.settings, o.Params, yardstick{o.Metric, o.Scale, e.view})
	if err != nil {
		return nil, err
	}
	v.classes, v.dim = o.Classes, o.Dim
	l, err := e.build(v)
	if err != nil {
		return nil, err
	}
	view := e.view
	if e.viewOf != nil {
		view = e.viewOf(v)
	}
	l = On(view, l)
	return l, checkLoss(l, o.Metric.Similarity())
}

func builtIn() []string {
	var names []string
	for _, row := range catalog() {
		names = append(names, row.name)
	}
	return names
}

// badMetric says what is wrong with the metric in a field.
func badMetric(field string, m metric.Metric, err error) error {
	if m == (metric.Metric{}) {
		return fmt.Errorf("%s is not set (%w): want the metric whose values the loss sees, such as metric.Metric{Kind: metric.Cosine}", field, err)
	}
	return fmt.Errorf("%s: %w", field, err)
}

func (o Options) complete() (Options, error) {
	if err := o.Metric.Validate(); err != nil {
		return o, badMetric("Options.Metric", o.Metric, err)
	}
	if o.Scale == 0 {
		o.Scale = 1
	}
	if !(o.Scale > 0) || o.Scale-o.Scale != 0 {
		return o, fmt.Errorf("Options.Scale: embedding scale is %v, want a positive number", o.Scale)
	}
	if unit := raw(o).unit(); !(unit >= smallestField && unit <= largestField) {
		return o, fmt.Errorf("Options.Scale: embedding scale is %v, on which %v between unrelated embeddings differs by %v from that of equal ones, want a difference from %g to %g", o.Scale, o.Metric, unit, smallestField, largestField)
	}
	return o, nil
}

// registered holds the losses of a program's own by name.
var registered registry.Table[func(Options) (Loss, error)]

func makeOwn(name string, own func(Options) (Loss, error), o Options) (Loss, error) {
	l, err := own(o)
	if err == nil && isNil(l) {
		err = errors.New("the function that was registered returned no loss")
	}
	if err == nil {
		err = checkLoss(l, o.Metric.Similarity())
	}
	if err != nil {
		return nil, fmt.Errorf("loss %s on %v: %w", name, o.Metric, err)
	}
	return l, nil
}

func isNil(l Loss) bool {
	v := reflect.ValueOf(l)
	return l == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// listOwn describes the losses that Register added. Those that cannot be made on the
// metric are listed all the same.
func listOwn(o Options) []Info {
	o.Classes, o.Dim = 2, 2
	var infos []Info
	for _, name := range registered.Names() {
		info := Info{Name: name, Meaning: "registered by this program"}
		if l, err := New(name, o); err == nil {
			info.Columns = l.Columns()
			_, info.Layered = l.(Layered)
		}
		infos = append(infos, info)
	}
	return infos
}
