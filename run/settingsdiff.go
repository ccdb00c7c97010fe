package run

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Differences lists the given values that are not those of a stored
// configuration, a line each. What was not given is not compared, nor what a
// resumed run may change.
func (s *Settings) Differences(stored Config) ([]string, error) {
	all := layer{}
	for _, l := range s.layers {
		if err := all.put(l); err != nil {
			return nil, err
		}
	}
	all.drop(append([]string{"loss.effective."}, changeable...)...)
	given := stored
	given.Loss.Params = maps.Clone(stored.Loss.Params)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if err := assign(reflect.ValueOf(&given).Elem(), path, all[path].node); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", all[path].source, path, err)
		}
	}
	if given.Weights.Path == NoWeights {
		given.Weights.Path = ""
	}
	if given.Model.Dim == 0 && given.Model.Head == "none" {
		given.Model.Dim = stored.Model.Dim
	}
	if err := given.absolute(); err != nil {
		return nil, err
	}
	if err := given.spellOutFlow(); err != nil {
		return nil, err
	}
	return Differences(stored, given, "stored", "given"), nil
}

// Differences lists the places at which two configurations differ.
func Differences(a, b Config, nameA, nameB string) []string {
	x, y := map[string]string{}, map[string]string{}
	leaves(x, "", toNode(reflect.ValueOf(a)))
	leaves(y, "", toNode(reflect.ValueOf(b)))
	all := maps.Clone(x)
	maps.Copy(all, y)
	var list []string
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if x[path] != y[path] {
			list = append(list, fmt.Sprintf("%s: %s %s, %s %s", path, orNone(x[path]), nameA, orNone(y[path]), nameB))
		}
	}
	return list
}

// Values are all single values and lists of the configuration as text, by their
// places, but those that are empty and those that only follow from others.
func (c Config) Values() map[string]string {
	c.Loss.Effective, c.Weights.SHA256 = nil, ""
	all := map[string]string{}
	leaves(all, "", toNode(reflect.ValueOf(c)))
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return all
}

// Implied reports whether the value at a place is what the configuration would have
// if nobody gave it: the default, or what its other settings come to.
func (c Config) Implied(place string) bool {
	value := c.Values()[place]
	c.Loss.Effective, c.Weights.SHA256 = nil, ""
	s := &Settings{}
	if err := s.AddNode("", toNode(reflect.ValueOf(c))); err != nil {
		return false
	}
	for given := range s.layers[0] {
		if given == place || strings.HasPrefix(given, place+".") {
			delete(s.layers[0], given)
		}
	}
	without, err := s.Config()
	return err == nil && without.Values()[place] == value
}

func orNone(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// leaves collects single values and lists by their places.
func leaves(to map[string]string, path string, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			leaves(to, join(path, n.Content[i].Value), n.Content[i+1])
		}
	case yaml.SequenceNode:
		if text, err := yaml.Marshal(n); err == nil && len(n.Content) > 0 { // of scalars and maps only
			to[path] = strings.TrimSpace(string(text))
		}
	default:
		to[path] = n.Value
	}
}
