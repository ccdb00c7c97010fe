package serve

import (
	"reflect"
	"strings"
)

// fieldsOf lists the fields that a type has in JSON: those that are always there, and all.
func fieldsOf(v any) (always, all []string) {
	for field := range reflect.TypeOf(v).Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		all = append(all, name)
		if !strings.Contains(options, "omitempty") {
			always = append(always, name)
		}
	}
	return always, all
}
