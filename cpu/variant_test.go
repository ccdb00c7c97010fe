package cpu

import (
	"reflect"
	"testing"
)

// TestEveryVariantHasEveryKernel: what a table may lack is what its comments say, and a
// tile has a kernel for each number of rows and vectors.
func TestEveryVariantHasEveryKernel(t *testing.T) {
	mayLack := map[string]bool{"across": true, "narrow": true, "pool3": true, "grids": true}
	for _, k := range available() {
		v := reflect.ValueOf(*k)
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !mayLack[name] {
				checkKernels(t, k.name+"."+name, v.Field(i))
			}
		}
		if len(k.tiles) != k.nr/k.vec || len(k.winograd.rows) != k.nr/k.vec || k.across != nil && len(k.across) != k.nr/k.vec {
			t.Errorf("%s: %d, %d and %d widths of tiles, want %d", k.name, len(k.tiles), len(k.winograd.rows), len(k.across), k.nr/k.vec)
		}
	}
}

// checkKernels looks for functions that are nil.
func checkKernels(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Func:
		if v.IsNil() {
			t.Errorf("%s is missing", name)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			checkKernels(t, name+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			checkKernels(t, name, v.Index(i))
		}
	case reflect.Slice:
		if v.Len() == 0 {
			t.Errorf("%s is missing", name)
		}
		for i := range v.Len() {
			first := 0
			if v.Index(i).Kind() == reflect.Func { // by rows, of which there is one or more
				first = 1
			}
			if i >= first {
				checkKernels(t, name, v.Index(i))
			}
		}
	}
}
