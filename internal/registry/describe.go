package registry

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Fields describes a value that a program made, to be compared with what it makes at
// another time: its type under "type", and its exported fields by name, those that are
// not zero. So a field that a later version adds changes nothing.
func Fields(x any) map[string]string {
	v := reflect.ValueOf(x)
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

// Text describes a value in one line, as Fields does a field.
func Text(x any) string { return fieldText(reflect.ValueOf(x), 0) }

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
