package linear

import (
	"strings"
	"testing"
)

func TestTheLastColumnIsTheLabelIfItHoldsClasses(t *testing.T) {
	for text, classes := range map[string]int{
		"a,b\n1,x\n2,y\n":                   2, // words
		"a,b\n1,0\n2,1\n3,0\n4,?\n5,1\n":    2, // whole numbers that come back, and a gap
		"1,3\n2,3\n3,-1\n4,-1\n":            2, // without names
		"a,b,c\n1,x,0.5\n2,y,1.5\n":         2, // the last one that is not left out
		"a,Class\n1,0.5\n2,1.5\n":           2, // its name says so
		"class,b\nx,1.5\ny,2.5\n":           2, // another one's name says so
		"a,b\n1,2.0\n2,1e1\n3,2.0\n4,1e1\n": 2, // whole, however they are written
	} {
		if tab := read(t, text, ReadOptions{Drop: drop(text)}); len(tab.Classes) != classes {
			t.Errorf("%q: classes %q, want %d", text, tab.Classes, classes)
		}
	}
}

// drop leaves column c out, where there is one.
func drop(text string) []string {
	if strings.HasPrefix(text, "a,b,c") {
		return []string{"c"}
	}
	return nil
}
