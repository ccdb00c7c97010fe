package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vernier-ml/vernier/internal/nearest"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train/tune/tpe"
)

// dimension is an entry of the space.
type dimension struct {
	param   tpe.Param
	choices []option
	when    []condition
	whole   bool
	text    string // of the entry, for the digest
	source  string
}

// option is one value of a choice: a setting, or several at once.
type option struct {
	label    string
	settings []run.Setting
}

// condition wants a place to have one of some values.
type condition struct {
	place  string
	values []string
}

// dimensions are those of one variant.
type dimensions []dimension

// ranges are the kinds of a range.
var ranges = map[string]tpe.Kind{"uniform": tpe.Uniform, "log": tpe.Log, "int": tpe.Int}

const rangesText = "a list of values, {uniform: [LOW, HIGH]}, {log: [LOW, HIGH]}, {int: [LOW, HIGH]} or {choice: [...]}, each also with when: {PLACE: VALUE}"

func parseSpace(name string, n *yaml.Node) (list []dimension, err error) {
	if n.Kind == 0 {
		return nil, fmt.Errorf("%s: space is missing: say what may vary, as in space: {optimizer.rate: {log: [1e-5, 1e-2]}}", name)
	}
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: space is a group of settings with ranges", name, n.Line)
	}
	for i := 0; i < len(n.Content); i += 2 {
		d, err := parseDimension(name, n.Content[i].Value, n.Content[i+1])
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

func parseDimension(name, place string, n *yaml.Node) (d dimension, err error) {
	at := fmt.Sprintf("%s:%d: %s", name, n.Line, place)
	text, err := yaml.Marshal(n)
	if err != nil {
		return d, fmt.Errorf("%s: %w", at, err)
	}
	d = dimension{param: tpe.Param{Name: place}, whole: run.IsWhole(place), text: place + ": " + string(text), source: fmt.Sprintf("%s:%d", name, n.Line)}
	if n.Kind == yaml.SequenceNode {
		return d, d.setChoices(name, n)
	}
	if n.Kind != yaml.MappingNode {
		return d, fmt.Errorf("%s: want %s", at, rangesText)
	}
	kinds := 0
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		kind, isRange := ranges[key]
		switch {
		case key == "when":
			if d.when, err = parseConditions(at, value); err != nil {
				return d, err
			}
			continue
		case key == "choice":
			err = d.setChoices(name, value)
		case isRange:
			d.param.Kind = kind
			err = d.setRange(at, value)
		default:
			err = fmt.Errorf("%s: unknown range %q%s (want %s)", at, key, nearest.Hint(key, []string{"uniform", "log", "int", "choice", "when"}), rangesText)
		}
		if err != nil {
			return d, err
		}
		kinds++
	}
	if kinds != 1 {
		return d, fmt.Errorf("%s: want one of %s", at, rangesText)
	}
	return d, nil
}

func (d *dimension) setRange(at string, n *yaml.Node) error {
	var ends []float64
	if err := n.Decode(&ends); err != nil || len(ends) != 2 {
		return fmt.Errorf("%s: want two numbers, as in {log: [1e-5, 1e-2]}", at)
	}
	d.param.Low, d.param.High = ends[0], ends[1]
	if d.whole && d.param.Kind != tpe.Int {
		return fmt.Errorf("%s takes whole numbers: want {int: [LOW, HIGH]} or a list of values", at)
	}
	if err := (tpe.Space{d.param}).Validate(); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

func (d *dimension) setChoices(name string, n *yaml.Node) (err error) {
	d.choices, err = parseChoices(name, d.param.Name, n)
	d.param.Kind, d.param.N = tpe.Choice, len(d.choices)
	return err
}

// parseChoices reads a list of values of a place; a group is several settings at once.
func parseChoices(name, place string, n *yaml.Node) (list []option, err error) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return nil, fmt.Errorf("%s:%d: %s: want a list of values", name, n.Line, place)
	}
	for _, v := range n.Content {
		if v.Kind != yaml.MappingNode {
			s, err := settingAt(name, place, v)
			if err != nil {
				return nil, err
			}
			list = append(list, option{fmt.Sprint(s.Value), []run.Setting{s}})
			continue
		}
		o := option{}
		var labels []string
		for i := 0; i < len(v.Content); i += 2 {
			s, err := settingAt(name, v.Content[i].Value, v.Content[i+1])
			if err != nil {
				return nil, err
			}
			o.settings, labels = append(o.settings, s), append(labels, fmt.Sprint(s.Value))
		}
		o.label = strings.Join(labels, " ")
		list = append(list, o)
	}
	return list, nil
}

func parseConditions(at string, n *yaml.Node) (list []condition, err error) {
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: when is a group of settings with a value or a list of values each", at)
	}
	for i := 0; i < len(n.Content); i += 2 {
		c := condition{place: n.Content[i].Value}
		value := n.Content[i+1]
		if value.Kind == yaml.ScalarNode {
			c.values = []string{value.Value}
		} else if err := value.Decode(&c.values); err != nil || len(c.values) == 0 {
			return nil, fmt.Errorf("%s: when: %s: want a value or a list of values", at, c.place)
		}
		list = append(list, c)
	}
	return list, nil
}

// spaceOf are the dimensions that a variant can have: conditions on its own settings are
// decided.
func (f *File) spaceOf(v Variant) (list dimensions) {
	fixed := v.values()
	for _, d := range f.space {
		if _, is := fixed[d.param.Name]; is {
			continue
		}
		never, left := false, []condition(nil)
		for _, c := range d.when {
			if !list.sets(c.place) {
				never = never || !slices.Contains(c.values, fixed[c.place])
				continue
			}
			left = append(left, c)
		}
		if d.when = left; !never {
			list = append(list, d)
		}
	}
	return list
}

// sets reports whether one of the dimensions sets a place.
func (l dimensions) sets(place string) bool {
	return slices.ContainsFunc(l, func(d dimension) bool {
		return d.param.Name == place || slices.ContainsFunc(d.choices, func(o option) bool {
			return slices.ContainsFunc(o.settings, func(s run.Setting) bool { return s.Path == place })
		})
	})
}

// tpe is the space in which points are proposed.
func (l dimensions) tpe(v Variant) tpe.Space {
	var s tpe.Space
	for i, d := range l {
		p := d.param
		if len(d.when) > 0 {
			before, when := l[:i], d.when
			p.Active = func(at map[string]float64) bool {
				values := v.values()
				for _, s := range before.settings(at) {
					values[s.Path] = fmt.Sprint(s.Value)
				}
				return !slices.ContainsFunc(when, func(c condition) bool { return !slices.Contains(c.values, values[c.place]) })
			}
		}
		s = append(s, p)
	}
	return s
}

// settings are those of a point.
func (l dimensions) settings(at map[string]float64) (list []run.Setting) {
	for _, d := range l {
		v, ok := at[d.param.Name]
		switch {
		case !ok:
		case d.param.Kind == tpe.Choice:
			list = append(list, d.choices[int(v)].settings...)
		default:
			list = append(list, run.Setting{Path: d.param.Name, Value: d.number(v), Source: d.source})
		}
	}
	return list
}

// digits are those with which numbers are tried.
const digits = 4

func (d dimension) number(v float64) string {
	if d.param.Kind == tpe.Int {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

// rounded is a point with the numbers that are tried.
func (l dimensions) rounded(at map[string]float64) map[string]float64 {
	for _, d := range l {
		if v, ok := at[d.param.Name]; ok && (d.param.Kind == tpe.Uniform || d.param.Kind == tpe.Log) {
			if r, err := strconv.ParseFloat(d.number(v), 64); err == nil {
				at[d.param.Name] = math.Min(math.Max(r, d.param.Low), d.param.High)
			}
		}
	}
	return at
}
