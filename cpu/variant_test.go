package cpu

import (
	"reflect"
	"testing"
)

// A kernel that a table lacks would be missed by the first operation that calls it only.
func TestVariantsHaveEveryKernel(t *testing.T) {
	for _, k := range available() {
		v := reflect.ValueOf(*k)
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Func && f.IsNil() {
				t.Errorf("%s has no %s", k.name, v.Type().Field(i).Name)
			}
		}
	}
}
