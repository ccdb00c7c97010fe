package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNamesAreKeptInOrderAndTakenOnce(t *testing.T) {
	var table Table[int]
	table.Add("x.Register", "b", 1, nil)
	table.Add("x.Register", "a-2", 2, nil)
	if v, ok := table.Get("a-2"); v != 2 || !ok {
		t.Errorf("a-2 is %v, %v", v, ok)
	}
	if _, ok := table.Get("c"); ok {
		t.Error("c is known")
	}
	if got := table.Names(); !slices.Equal(got, []string{"b", "a-2"}) {
		t.Errorf("names %q", got)
	}
	for name, want := range map[string]string{
		"b":     `x.Register: "b" is registered already`,
		"taken": `x.Register: "taken" is the name of a built-in one`,
		"":      `x.Register: the name is ""; want letters a to z`,
		"Mine":  `the name is "Mine"; want letters a to z`,
		"2x":    `the name is "2x"`,
		"a:b":   `the name is "a:b"`,
		"a b":   `the name is "a b"`,
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, want) {
					t.Errorf("%q: %s, want %q in it", name, text, want)
				}
			}()
			table.Add("x.Register", name, 3, []string{"taken"})
		}()
	}
	table.Remove("b")
	if got := table.Names(); !slices.Equal(got, []string{"a-2"}) {
		t.Errorf("names %q", got)
	}
}
