package run

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestEveryWholeNumberHasABound looks for settings that upperBounds forgets, and at
// what a value above the bound is answered, from a file and from a flag.
func TestEveryWholeNumberHasABound(t *testing.T) {
	bounds := upperBounds()
	for _, place := range places(reflect.TypeFor[Config](), "") {
		typ, err := typeAt(reflect.TypeFor[Config](), place)
		if err != nil {
			t.Fatal(err)
		}
		list := typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Int
		whole := list || slices.Contains([]reflect.Kind{reflect.Int, reflect.Int64}, typ.Kind())
		if !whole || typ == reflect.TypeFor[Duration]() {
			continue
		}
		bound, ok := bounds[place]
		if !ok {
			t.Errorf("%s has no upper bound", place)
			continue
		}
		for _, v := range []int64{bound + 1, math.MaxInt64} {
			text := fmt.Sprint(v)
			if list {
				text = "[" + text + "]"
			}
			_, err := settings(t, "data: {spec: glyphs}", Setting{Path: place, Value: text, Source: "--flag"}).Config()
			if want := fmt.Sprintf("%s is %d, must be at most %d", place, v, bound); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "--flag: ") {
				t.Errorf("%v, want %q in it", err, want)
			}
		}
	}
}

func TestNumbersThatAreNotFiniteAreRefused(t *testing.T) {
	for _, place := range places(reflect.TypeFor[Config](), "") {
		typ, err := typeAt(reflect.TypeFor[Config](), place)
		if err != nil {
			t.Fatal(err)
		}
		form := "%s"
		switch {
		case typ.Kind() == reflect.Array:
			form = "[1, %s, 1]"
		case typ.Kind() != reflect.Float64:
			continue
		}
		for _, value := range []string{"NaN", "Inf", "-Inf", "1e999", ".nan", ".inf"} {
			if _, err := settings(t, "data: {spec: glyphs}", Setting{Path: place, Value: fmt.Sprintf(form, value)}).Config(); err == nil {
				t.Errorf("%s: %s is taken", place, value)
			}
		}
	}
	for _, value := range []string{"brm:isru,omega=NaN", "brm:isru,omega=Inf", "brm:isru,omega=-1"} {
		if _, err := settings(t, "data: {spec: glyphs}", Setting{Path: "model.metric", Value: value}).Config(); err == nil {
			t.Errorf("metric %s is taken", value)
		}
	}
}

func TestProductsOfSettingsAreBounded(t *testing.T) {
	_, err := settings(t, "{data: {spec: glyphs}, classes_per_batch: 65536, images_per_class: 65536}").Config()
	if err == nil || !strings.Contains(err.Error(), "a batch of 4294967296 images, 65536 classes of 65536: must be at most 65536") {
		t.Error(err)
	}
}

// TestAValueThatIsTooSmallIsNamed even where without it another one is wrong.
func TestAValueThatIsTooSmallIsNamed(t *testing.T) {
	for _, value := range []string{"-1", "1"} {
		_, err := settings(t, "{data: {spec: glyphs}, sampler: random}", Setting{Path: "batch_size", Value: value, Source: "--flag"}).Config()
		if want := "--flag: batch_size is " + value + ", must be at least 2"; err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]string{
		"1h30m": "", "-2.5s": "", "2562047h": "", "2562048h": "must be at most 2562047h", "-9999999h": "must be at most 2562047h",
		"9999999": "want a time with its unit", "h": "want a time", "1x": "want a time", "": "want a time",
	} {
		if _, err := ParseDuration(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
