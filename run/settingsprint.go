package run

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

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
