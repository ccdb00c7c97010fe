package golden

import (
	"fmt"
	"math"
)

// Params are the parameters of a case, possibly nested. The getters return
// otherwise where a key is absent or null, and panic where its value is of
// another type: a file that means something else must not pass as the default.
type Params map[string]any

// Has says whether key is present and not null.
func (p Params) Has(key string) bool { return p[key] != nil }

// Float returns a number; the strings "NaN", "Inf" and "-Inf" are numbers too.
func (p Params) Float(key string, otherwise float64) float64 {
	v := p[key]
	if v == nil {
		return otherwise
	}
	if _, ok := v.(bool); !ok {
		if x, err := number(v); err == nil {
			return x
		}
	}
	panic(p.wrong(key, "a number"))
}

// Int returns an integer.
func (p Params) Int(key string, otherwise int) int {
	x := p.Float(key, float64(otherwise))
	if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		panic(p.wrong(key, "an integer"))
	}
	return int(x)
}

// Bool returns a boolean; 0 and 1 are booleans too.
func (p Params) Bool(key string, otherwise bool) bool {
	switch v := p[key].(type) {
	case nil:
		return otherwise
	case bool:
		return v
	case float64:
		if v == 0 || v == 1 {
			return v == 1
		}
	}
	panic(p.wrong(key, "a boolean"))
}

// String returns a string.
func (p Params) String(key string, otherwise string) string {
	switch v := p[key].(type) {
	case nil:
		return otherwise
	case string:
		return v
	}
	panic(p.wrong(key, "a string"))
}

// Sub returns nested parameters, empty ones if key is absent.
func (p Params) Sub(key string) Params {
	switch v := p[key].(type) {
	case nil:
		return Params{}
	case map[string]any:
		return v
	}
	panic(p.wrong(key, "an object"))
}

// Ints returns a list of integers. A single integer is a list of one.
func (p Params) Ints(key string, otherwise ...int) []int {
	list, ok := p[key].([]any)
	if !ok {
		if !p.Has(key) {
			return otherwise
		}
		return []int{p.Int(key, 0)}
	}
	ints := make([]int, len(list))
	for i, v := range list {
		x, ok := v.(float64)
		if !ok || x != math.Trunc(x) {
			panic(p.wrong(key, "a list of integers"))
		}
		ints[i] = int(x)
	}
	return ints
}

func (p Params) wrong(key, want string) string {
	return fmt.Sprintf("golden: parameter %q is %v (%T), want %s", key, p[key], p[key], want)
}
