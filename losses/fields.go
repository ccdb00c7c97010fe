package losses

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/metric"
)

// written is a loss of this package. Its Eval is evaluate, which calls eval on the
// loss itself, or where no field is set on the paper's.
type written interface {
	Loss
	parameters
	about() about
	eval(m *Matrix, grad []float64) (Result, error)
}

// about is what a loss says of itself: its row of the catalog, from which come the
// constants of its zero value.
type about struct {
	name  string
	entry func(Options) entry
	paper *paper
}

// paper holds the loss that a zero value stands for, once it has been used.
type paper struct {
	loss       written
	similarity bool // of the matrix that it is for
}

// evaluate is Eval of every loss of the package.
func evaluate(l written, m *Matrix, grad []float64) (Result, error) {
	name := l.about().name
	if err := m.checkSizes(); err != nil {
		return Result{}, fmt.Errorf("losses: %s: %w", name, err)
	}
	own, err := settled(l, m.Similarity)
	if err != nil {
		return Result{}, err
	}
	r, err := own.eval(m, grad)
	if err != nil {
		return r, err
	}
	return r, checkValue(name, r.Value)
}

// checkValue refuses a sum that has overflowed.
func checkValue(name string, x float64) error {
	if x-x != 0 {
		return fmt.Errorf("losses: %s: the sum %v is %w: values are too large", name, x, ErrNotFinite)
	}
	return nil
}

// settled returns the loss that l stands for on a matrix of the given direction, or
// what is wrong with its fields.
func settled(l written, similarity bool) (written, error) {
	a := l.about()
	return settle(a.name, l, similarity, func() (written, error) { return a.fromPaper(similarity) })
}

// checkLoss says what is wrong with the fields of any loss, before it sees a matrix.
func checkLoss(l Loss, similarity bool) error {
	if v, ok := l.(*viewed); ok {
		return checkLoss(v.loss, v.view.Similarity(similarity))
	}
	if w, ok := l.(written); ok {
		_, err := settled(w, similarity)
		return err
	}
	return nil
}

// fromPaper returns the loss with the defaults that New gives it on a cosine. A loss
// in a metric's own values has those of the Euclidean distance of unit vectors where
// the matrix holds distances.
func (a about) fromPaper(similarity bool) (written, error) {
	if a.paper.loss != nil && a.paper.similarity == similarity {
		return a.paper.loss, nil
	}
	e := a.entry(Options{Metric: metric.Metric{Kind: metric.Cosine}, Scale: 1})
	switch {
	case !e.view.active:
		e = a.entry(unitVectors(similarity))
	case e.view.similarity != similarity && !e.shifts:
		return nil, fmt.Errorf("losses: %s: the constants of the zero value are for %s; put that in front of other values (On), or set the fields", a.name, e.view.onCosine())
	}
	v, err := readValues(e.settings, nil, yardstick{})
	if err != nil {
		return nil, err
	}
	l, err := e.build(v)
	if err != nil {
		return nil, fmt.Errorf("losses: %s: %w", a.name, err)
	}
	*a.paper = paper{loss: l.(written), similarity: similarity}
	return a.paper.loss, nil
}

// unitVectors are the options of what a matrix without a metric is taken for: cosines,
// or Euclidean distances of unit vectors.
func unitVectors(similarity bool) Options {
	if similarity {
		return Options{Metric: metric.Metric{Kind: metric.Cosine}, Scale: 1}
	}
	return Options{Metric: metric.Metric{Kind: metric.Euclidean}, Scale: 1}
}

// parameters is a loss, a miner or a term whose exported fields are numbers and
// choices.
type parameters interface {
	// fields shows every exported field to f, needed ones first.
	fields(f *fields)
}

// fields looks at the exported fields of a loss, a miner or a term, one after the
// other: whether any is set, and which is the first whose value means nothing.
type fields struct {
	similarity bool // of the matrix
	set        bool
	wrong      *wrongField
}

// wrongField is a field whose value means nothing.
type wrongField struct {
	name, value, want string
	zero              bool // the field is not set
	needed            bool // and has no default
}

// Numbers in a field are finite, and not so large or small that a loss of them is
// not.
const (
	largestField  = 1e30
	smallestField = 1e-30
)

// refuse takes note of a field whose value means nothing.
func (f *fields) refuse(name string, value any, want string) {
	if f.wrong == nil {
		f.wrong = &wrongField{name: name, value: fmt.Sprint(value), want: want, zero: value == 0 || value == 0.}
	}
}

// needed says that the fields seen so far count even where none is set: there is
// no number in a paper that could take their place.
func (f *fields) needed() {
	f.set = true
	if f.wrong != nil {
		f.wrong.needed = true
	}
}

// number is a field of any size.
func (f *fields) number(name string, x float64) {
	f.in(name, x, interval{low: math.Inf(-1), high: math.Inf(1)})
}

// notNegative is a margin or a weight.
func (f *fields) notNegative(name string, x float64) {
	f.in(name, x, interval{low: 0, high: math.Inf(1)})
}

// positive is what multiplies, divides or has a width.
func (f *fields) positive(name string, x float64) {
	f.in(name, x, interval{low: 0, high: math.Inf(1), openLow: true})
}

// numbers is a field of at least one number.
func (f *fields) numbers(name string, x []float64, want string) {
	f.flag(x != nil)
	if len(x) == 0 {
		f.refuse(name, "empty", want)
	}
	if i := slices.IndexFunc(x, func(v float64) bool { return !(math.Abs(v) <= largestField) }); i >= 0 {
		f.number(fmt.Sprintf("%s[%d]", name, i), x[i])
	}
}

// in is a number in an interval.
func (f *fields) in(name string, x float64, i interval) {
	f.flag(x != 0)
	size := math.Abs(x)
	switch {
	case !i.holds(x) && math.IsInf(i.low, -1) && math.IsInf(i.high, 1):
		f.refuse(name, x, "a finite number")
	case !i.holds(x):
		f.refuse(name, x, i.text(name))
	case x > largestField:
		f.refuse(name, x, fmt.Sprintf("at most %g", largestField))
	case x < -largestField:
		f.refuse(name, x, fmt.Sprintf("at least %g", -largestField))
	case i.low == 0 && i.openLow && size < smallestField:
		f.refuse(name, x, fmt.Sprintf("at least %g", smallestField))
	}
}

// whole is a whole number from low to high.
func (f *fields) whole(name string, n, low, high int) {
	f.flag(n != 0)
	if n < low || n > high {
		f.refuse(name, n, interval{low: float64(low), high: float64(high)}.text(name))
	}
}

// choice is one of the named values of an enumeration.
func (f *fields) choice(name string, value int, names ...string) {
	f.flag(value != 0)
	if value >= len(names) {
		f.refuse(name, value, "one of "+strings.Join(names, ", "))
	}
}

// flag takes note of whether a field is set.
func (f *fields) flag(set bool) { f.set = f.set || set }

// distances is a view whose result has to be a distance: the zero View, which leaves
// values as they are, will not do on similarities.
func (f *fields) distances(name string, v View, want string) {
	f.flag(v != View{})
	if v.Similarity(f.similarity) {
		kind := "a view of distances as similarities"
		if !v.active {
			kind = "the zero View, on similarities"
		}
		f.refuse(name, kind, want+" of the metric")
	}
}

// miner is a field that holds a miner, or none.
func (f *fields) miner(name string, miner any) {
	v := reflect.ValueOf(miner)
	f.flag(miner != nil)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		f.refuse(name, "a nil pointer", "a miner, or nil for none")
	}
}

// settle returns x where its fields can be used as they are, the paper's where
// none is set, and else an error that says which field means nothing.
func settle[T parameters](name string, x T, similarity bool, paper func() (T, error)) (T, error) {
	f := fields{similarity: similarity}
	x.fields(&f)
	switch {
	case !f.set:
		return paper()
	case f.wrong == nil:
		return x, nil
	}
	p, err := paper()
	if err != nil {
		return x, f.wrong.error(name, reflect.Value{})
	}
	return x, f.wrong.error(name, reflect.Indirect(reflect.ValueOf(p)))
}

// error says what is wrong with a field, what its default is, if it has one, and why an unset field counts.
func (w wrongField) error(name string, paper reflect.Value) error {
	standard := ""
	if paper.IsValid() && !w.needed {
		if v := paper.FieldByName(w.name); v.IsValid() && v.CanFloat() {
			standard = fmt.Sprintf(" (the default is %s)", format(v.Float()))
		} else if v.IsValid() && v.CanInt() {
			standard = fmt.Sprintf(" (the default is %d)", v.Int())
		}
	}
	unset := ""
	if w.zero && standard != "" {
		unset = "; once one field is set, those that are not count as 0"
	}
	return fmt.Errorf("losses: %s: %s is %s, want %s%s%s", name, w.name, w.value, w.want, standard, unset)
}
