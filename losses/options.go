package losses

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/metric"
)

// maxClasses is the largest number of classes: float32, in which a graph holds labels,
// counts no further.
const maxClasses = 1 << 24

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
	Name    string      `json:"name"`
	Meaning string      `json:"meaning"` // one line
	Source  string      `json:"source"`  // where the loss comes from
	Columns Columns     `json:"columns"`
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
	for _, row := range catalogue() {
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

func builtIn() []string {
	var names []string
	for _, row := range catalogue() {
		names = append(names, row.name)
	}
	return names
}

// List describes all losses on a metric at embedding scale c (0 means 1).
func List(m metric.Metric, c float64) ([]Info, error) {
	o, err := Options{Metric: m, Scale: c}.complete()
	if err != nil {
		return nil, fmt.Errorf("losses: %w", err)
	}
	var infos []Info
	for _, row := range catalogue() {
		e := row.make(o)
		infos = append(infos, Info{Name: row.name, Meaning: e.meaning, Source: e.source, Columns: e.columns, Params: paramInfos(e.settings)})
	}
	return append(infos, listOwn(o)...), nil
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

// entry says how a loss is made for one metric.
type entry struct {
	meaning, source string
	columns         Columns
	view            View
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

// readValues reads parameters where they are given, else takes the defaults.
func readValues(settings []setting, params map[string]string, y yardstick) (values, error) {
	v := values{at: map[string]float64{}, settings: settings}
	names := make([]string, len(settings))
	for k, s := range settings {
		v.at[s.name] = s.standard
		names[k] = s.name
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		k := slices.Index(names, name)
		switch {
		case k < 0 && len(names) == 0:
			return v, fmt.Errorf("unknown parameter %q, there is none", name)
		case k < 0:
			return v, fmt.Errorf("unknown parameter %q, want one of %s", name, strings.Join(names, ", "))
		}
		x, err := settings[k].read(params[name], y)
		if err != nil {
			return v, fmt.Errorf("%s = %w", name, err)
		}
		v.at[name] = x
	}
	return v, nil
}

func paramInfos(settings []setting) []ParamInfo {
	var infos []ParamInfo
	for _, s := range settings {
		infos = append(infos, ParamInfo{
			Name: s.name, Meaning: s.meaning, Default: s.defaultText(), Range: s.rangeText(),
			Margin: s.kind == level || s.kind == gap,
		})
	}
	return infos
}

// values holds a loss's parameters by name.
type values struct {
	at       map[string]float64
	settings []setting
	classes  int
	dim      int
}

func (v values) real(name string) float64 { return v.at[name] }
func (v values) int(name string) int      { return int(v.at[name]) }
func (v values) on(name string) bool      { return v.at[name] != 0 }

func (v values) word(name string) string {
	k := slices.IndexFunc(v.settings, func(s setting) bool { return s.name == name })
	return v.settings[k].choices[v.int(name)]
}

// perClass returns the number of classes for a loss that cannot do without.
func (v values) perClass() (int, error) {
	if v.classes < 1 || v.classes > maxClasses {
		return 0, fmt.Errorf("Options.Classes: number of classes is %d, want the number of training classes", v.classes)
	}
	return v.classes, nil
}

// dimension returns the dimension of the embedding for what cannot do without.
func (v values) dimension() (int, error) {
	if v.dim < 2 {
		return 0, fmt.Errorf("Options.Dim: dimension of the embedding is %d, want 2 or more", v.dim)
	}
	return v.dim, nil
}
