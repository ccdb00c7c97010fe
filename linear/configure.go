package linear

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/metric"
)

// Configure returns the learner with settings changed by name, as a command line
// gives them: a field's name in any case, with or without hyphens, and its value
// as text. The settings of Stochastic belong to BRM-C and BRM-R themselves.
func Configure(l Learner, settings map[string]string) (Learner, error) {
	v := reflect.New(reflect.TypeOf(l)).Elem()
	v.Set(reflect.ValueOf(l))
	fields := map[string]reflect.Value{}
	var names []string
	collect(v, fields, &names)
	for name, text := range settings {
		f, ok := fields[plain(name)]
		if !ok {
			if len(names) == 0 {
				return nil, fmt.Errorf("%s has no settings, so not %q", l.Name(), name)
			}
			return nil, fmt.Errorf("%s has no setting %q; it has %s", l.Name(), name, strings.Join(names, ", "))
		}
		if err := assign(f, text); err != nil {
			return nil, fmt.Errorf("%s, setting %s: %w", l.Name(), name, err)
		}
	}
	return v.Interface().(Learner), nil
}

// Settings lists the names that Configure takes.
func Settings(l Learner) []string {
	v := reflect.New(reflect.TypeOf(l)).Elem()
	v.Set(reflect.ValueOf(l))
	var names []string
	collect(v, map[string]reflect.Value{}, &names)
	return names
}

func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "")) }

// collect finds the fields that text can set. The seed, the engine and whether
// the metric is restricted are no settings.
func collect(v reflect.Value, fields map[string]reflect.Value, names *[]string) {
	for i := range v.NumField() {
		field, f := v.Type().Field(i), v.Field(i)
		switch {
		case field.Anonymous && field.Name == "Stochastic":
			collect(f, fields, names)
			continue
		case field.Name == "Seed" || field.Name == "Unrestricted":
			continue
		}
		switch f.Interface().(type) {
		case int, float64, *float64, Embedding, Divergence, metric.Restriction:
			fields[plain(field.Name)] = f
			*names = append(*names, hyphenated(field.Name))
		}
	}
}

func hyphenated(name string) string {
	var b strings.Builder
	for i, c := range name {
		if i > 0 && c >= 'A' && c <= 'Z' {
			b.WriteByte('-')
		}
		b.WriteRune(c)
	}
	return strings.ToLower(b.String())
}

func assign(f reflect.Value, text string) error {
	switch f.Interface().(type) {
	case int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q is no whole number", text)
		}
		if n < 0 {
			return fmt.Errorf("%d is negative", n)
		}
		f.SetInt(int64(n))
	case float64, *float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is no number", text)
		}
		if f.Kind() == reflect.Pointer {
			f.Set(reflect.ValueOf(&x))
		} else {
			f.SetFloat(x)
		}
	case Divergence:
		if err := Divergence(text).validate(); err != nil {
			return err
		}
		f.SetString(text)
	case Embedding:
		f.SetString(text)
	case metric.Restriction:
		r, err := metric.ParseRestriction(text)
		if err != nil {
			return err
		}
		f.SetUint(uint64(r))
	}
	return nil
}
