package run

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vernier-ml/vernier/internal/nearest"
)

// Keys of the configuration are the names that its fields have in JSON.

// fieldAt finds the field of a struct by its key.
func fieldAt(t reflect.Type, key string) (field int, ok bool) {
	for i := range t.NumField() {
		if keyOf(t.Field(i)) == key {
			return i, true
		}
	}
	return 0, false
}

func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		keys = append(keys, keyOf(t.Field(i)))
	}
	return keys
}

// nested reports whether values of a type have places of their own.
func nested(t reflect.Type) bool { return t.Kind() == reflect.Struct && !isText(t) }

func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// typeAt finds the type that a place has, or says what may have been meant.
func typeAt(t reflect.Type, path string) (reflect.Type, error) {
	done := ""
	for rest := path; rest != ""; {
		key, after, _ := strings.Cut(rest, ".")
		switch {
		case nested(t):
			i, ok := fieldAt(t, key)
			if !ok {
				return nil, unknownKey(t, done, key)
			}
			t = t.Field(i).Type
		case t.Kind() == reflect.Map:
			t = t.Elem()
		default:
			return nil, fmt.Errorf("%s is one value and has nothing called %q in it", done, key)
		}
		done, rest = join(done, key), after
	}
	return t, nil
}

// IsWhole reports whether a place of the configuration takes a whole number.
func IsWhole(place string) bool {
	t, err := typeAt(reflect.TypeFor[Config](), place)
	return err == nil && !isText(t) && slices.Contains([]reflect.Kind{reflect.Int, reflect.Int64, reflect.Uint64}, t.Kind())
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// unknownKey names a key of that name elsewhere, or the nearest of the group.
func unknownKey(t reflect.Type, group, key string) error {
	keys, best := keysOf(t), ""
	for _, p := range places(reflect.TypeFor[Config](), "") {
		if last := p[strings.LastIndex(p, ".")+1:]; last == key {
			best = p
		}
	}
	if best == "" {
		if near, found := nearest.Of(key, keys); found {
			best = join(group, near)
		}
	}
	what := fmt.Sprintf("unknown key %q", join(group, key))
	if best != "" {
		return fmt.Errorf("%s; did you mean %s?", what, best)
	}
	if group != "" {
		return fmt.Errorf("%s (in %s there is: %s)", what, group, strings.Join(keys, ", "))
	}
	return fmt.Errorf("%s (there is: %s)", what, strings.Join(keys, ", "))
}

// places lists all that a struct has.
func places(t reflect.Type, group string) []string {
	var all []string
	for i := range t.NumField() {
		f := t.Field(i)
		path := join(group, keyOf(f))
		if nested(f.Type) {
			all = append(all, places(f.Type, path)...)
		} else {
			all = append(all, path)
		}
	}
	return all
}

// flatten puts a value at a place into the layer, its parts at places of their
// own. at says where a node stands.
func (l layer) flatten(t reflect.Type, path string, n *yaml.Node, at func(*yaml.Node) string) error {
	if !nested(t) && t.Kind() != reflect.Map {
		if g, ok := l[path]; ok {
			return fmt.Errorf("%s: %s is given twice (also at %s)", at(n), path, g.source)
		}
		l[path] = given{n, at(n)}
		return nil
	}
	if n.Kind != yaml.MappingNode {
		if path == "" {
			return fmt.Errorf("%s: a configuration is a list of keys with values", at(n))
		}
		return fmt.Errorf("%s: %s is a group of keys, not one value", at(n), path)
	}
	merged := layer{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Value == "<<" { // YAML's merge: what stands beside it wins
			if err := merged.flatten(t, path, value, at); err != nil {
				return err
			}
			continue
		}
		if strings.Contains(key.Value, ".") {
			return fmt.Errorf("%s: key %q: in a file groups are nested, without dots", at(key), key.Value)
		}
		inner := t
		if t.Kind() == reflect.Map {
			inner = t.Elem()
		} else {
			f, ok := fieldAt(t, key.Value)
			if !ok {
				return fmt.Errorf("%s: %w", at(key), unknownKey(t, path, key.Value))
			}
			inner = t.Field(f).Type
		}
		if err := l.flatten(inner, join(path, key.Value), value, at); err != nil {
			return err
		}
	}
	for place, g := range merged {
		if _, ok := l[place]; !ok {
			l[place] = g
		}
	}
	return nil
}

// parseValue reads a value as a user writes it in one line: lists and groups as
// YAML, everything else as it stands.
func parseValue(t reflect.Type, text string) (*yaml.Node, error) {
	if isText(t) || !slices.Contains([]reflect.Kind{reflect.Struct, reflect.Map, reflect.Slice, reflect.Array}, t.Kind()) {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: text}, nil
	}
	n, err := ParseYAML("the value", []byte(text))
	if err == nil && n == nil {
		err = errors.New("it has no value")
	}
	return n, err
}

// assign sets the value at a place of a struct.
func assign(v reflect.Value, path string, n *yaml.Node) error {
	key, rest, more := strings.Cut(path, ".")
	i, ok := fieldAt(v.Type(), key)
	if !ok {
		return unknownKey(v.Type(), "", key)
	}
	f := v.Field(i)
	switch {
	case !more:
		return setNode(f, n)
	case f.Kind() == reflect.Map:
		e := reflect.New(f.Type().Elem()).Elem()
		if err := setNode(e, n); err != nil {
			return err
		}
		if f.IsNil() {
			f.Set(reflect.MakeMap(f.Type()))
		}
		f.SetMapIndex(reflect.ValueOf(rest), e)
		return nil
	}
	return assign(f, rest, n)
}

// setNode sets one value.
func setNode(v reflect.Value, n *yaml.Node) error {
	switch {
	case isText(v.Type()):
		if n.Kind != yaml.ScalarNode {
			return errors.New("want one value")
		}
		return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value))
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		return setList(v, n)
	case v.Kind() == reflect.Struct:
		return setGroup(v, n)
	}
	if n.Kind != yaml.ScalarNode {
		return errors.New("want one value")
	}
	return setText(v, n.Value)
}

func setList(v reflect.Value, n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return errors.New("want a list, as in [1, 2]")
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	} else if len(n.Content) != v.Len() {
		return fmt.Errorf("want a list of %d, there are %d", v.Len(), len(n.Content))
	}
	for i, e := range n.Content {
		if err := setNode(v.Index(i), e); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	return nil
}

// setGroup sets a struct that is an entry of a list.
func setGroup(v reflect.Value, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("want a group of keys, as in {name: value}")
	}
	parts := layer{}
	if err := parts.flatten(v.Type(), "", n, func(*yaml.Node) string { return "entry" }); err != nil {
		return err
	}
	for path, g := range parts {
		if err := assign(v, path, g.node); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func setText(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(text == "true")
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return noNumber(err, text, "number")
		}
		v.SetFloat(x)
	case reflect.Int, reflect.Int64:
		x, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return noNumber(err, text, "whole number")
		}
		v.SetInt(x)
	case reflect.Uint64:
		x, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return noNumber(err, text, "whole number from 0 on")
		}
		v.SetUint(x)
	default:
		return fmt.Errorf("values of type %v cannot be given", v.Type())
	}
	return nil
}

// noNumber says why a text is not a number of a kind.
func noNumber(err error, text, kind string) error {
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s is too large for a %s", text, kind)
	}
	return fmt.Errorf("%q is no %s", text, kind)
}

// YAML is the configuration as Settings.AddYAML reads it, every value of it.
func (c Config) YAML() ([]byte, error) {
	text, err := yaml.Dump(toNode(reflect.ValueOf(c)))
	if err != nil {
		return nil, fmt.Errorf("printing the configuration: %w", err)
	}
	return text, nil
}

// toNode is a value as YAML, with the keys of JSON.
func toNode(v reflect.Value) *yaml.Node {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if err != nil {
			text = []byte(err.Error()) // of an invalid value; reading it back says the same
		}
		return scalar("!!str", string(text))
	}
	switch v.Kind() {
	case reflect.Struct:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if strings.Contains(f.Tag.Get("json"), ",omitempty") && v.Field(i).IsZero() {
				continue
			}
			n.Content = append(n.Content, scalar("!!str", keyOf(f)), toNode(v.Field(i)))
		}
		return n
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range slices.Sorted(maps.Keys(v.Interface().(map[string]string))) {
			n.Content = append(n.Content, scalar("!!str", key), plain(v.Interface().(map[string]string)[key]))
		}
		return n
	case reflect.Slice, reflect.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for i := range v.Len() {
			n.Content = append(n.Content, toNode(v.Index(i)))
		}
		return n
	case reflect.String:
		return scalar("!!str", v.String())
	case reflect.Float64:
		return scalar("!!float", strconv.FormatFloat(v.Float(), 'g', -1, 64))
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v.Interface())}
}

func scalar(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

// plain is a text that may be a number, without quotes.
func plain(text string) *yaml.Node {
	if _, err := strconv.ParseFloat(text, 64); err == nil || text == "true" || text == "false" {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	}
	return scalar("!!str", text)
}
