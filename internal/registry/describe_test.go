package registry

import (
	"maps"
	"testing"
)

type inner struct {
	A      int
	hidden int
	Next   *inner
}

type outer struct {
	Rate  float64
	None  *inner
	One   *inner
	Many  []inner
	Any   any
	By    map[string]int
	Do    func()
	plain int
}

func TestValuesAreTextThatDoesNotChange(t *testing.T) {
	x := &outer{
		Rate: .5, One: &inner{A: 2, hidden: 3}, Many: []inner{{}, {A: 1}}, Any: inner{A: 7},
		By: map[string]int{"b": 2, "a": 1}, Do: func() {}, plain: 4,
	}
	want := map[string]string{
		"type": "registry.outer", "Rate": "0.5", "One": "registry.inner{A: 2}", "Many": "{registry.inner{}, registry.inner{A: 1}}",
		"Any": "registry.inner{A: 7}", "By": "{a: 1, b: 2}", "Do": "func()",
	}
	if got := Fields(x); !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	round := &inner{}
	round.Next = round
	if got := Text(round); len(got) > 300 {
		t.Errorf("a circle is %s", got)
	}
	if got := Fields(3); !maps.Equal(got, map[string]string{"type": "int"}) {
		t.Errorf("a number is %q", got)
	}
}
