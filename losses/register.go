package losses

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/registry"
)

// registered holds the losses of a program's own by name.
var registered registry.Table[func(Options) (Loss, error)]

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
		}
		infos = append(infos, info)
	}
	return infos
}

// describe returns the type of a loss under "type" and its exported fields by name,
// those that are not zero: a field that a later version adds changes nothing.
func describe(l Loss) map[string]string {
	if v, ok := l.(*viewed); ok {
		return describe(v.loss)
	}
	v := reflect.ValueOf(l)
	all := map[string]string{"type": reflect.Indirect(v).Type().String()}
	if v = reflect.Indirect(v); v.Kind() != reflect.Struct {
		return all
	}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
			all[f.Name] = fieldText(v.Field(i), 0)
		}
	}
	return all
}

// maxDepth bounds how deep pointers are followed: they may lead round in a circle.
const maxDepth = 8

// fieldText is the value of a field as text, without addresses and what is unexported.
func fieldText(v reflect.Value, depth int) string {
	if depth++; depth > maxDepth {
		return "..."
	}
	list := func(open string, n int, part func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = part(i)
		}
		return open + "{" + strings.Join(parts, ", ") + "}"
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() { // in a list
			return "nil"
		}
		return fieldText(v.Elem(), depth)
	case reflect.Struct:
		var fields []int
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && !v.Field(i).IsZero() {
				fields = append(fields, i)
			}
		}
		return list(v.Type().String(), len(fields), func(i int) string {
			return v.Type().Field(fields[i]).Name + ": " + fieldText(v.Field(fields[i]), depth)
		})
	case reflect.Slice, reflect.Array:
		return list("", v.Len(), func(i int) string { return fieldText(v.Index(i), depth) })
	case reflect.Map:
		parts := map[string]string{}
		for _, k := range v.MapKeys() {
			parts[fieldText(k, depth)] = fieldText(v.MapIndex(k), depth)
		}
		keys := slices.Sorted(maps.Keys(parts))
		return list("", len(keys), func(i int) string { return keys[i] + ": " + parts[keys[i]] })
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return v.Type().String()
	}
	return fmt.Sprint(v)
}
