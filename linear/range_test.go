package linear

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// scaledTable is a table of two columns of numbers, all times a factor plus an offset.
func scaledTable(t *testing.T, factor, offset float64) *Table {
	t.Helper()
	var text strings.Builder
	text.WriteString("a,b,label\n")
	for i := range 30 {
		u, v := float64(i%3)+math.Sin(float64(i)), math.Cos(float64(7*i))
		fmt.Fprintf(&text, "%g,%g,k%d\n", factor*u+offset, factor*v+offset, i%3)
	}
	tab, err := ReadTable(strings.NewReader(text.String()), "t", ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// TestStandardizedColumnsDoNotDependOnTheirUnit: numbers whose squares no number of 64 bits
// holds are encoded as others are.
func TestStandardizedColumnsDoNotDependOnTheirUnit(t *testing.T) {
	encoded := func(factor float64) []float64 {
		tab := scaledTable(t, factor, 0)
		e, err := FitEncoder(tab, allRows(tab.Rows()), EncodeOptions{})
		if err != nil {
			t.Fatalf("factor %g: %v", factor, err)
		}
		x, err := e.Encode(tab, allRows(tab.Rows()))
		if err != nil {
			t.Fatalf("factor %g: %v", factor, err)
		}
		return x.RawMatrix().Data
	}
	want := encoded(1)
	for _, factor := range []float64{1e-300, 1e-170, 1e-155, 1e-40, 1e40, 1e150, 1e170, 1e300} {
		for i, v := range encoded(factor) {
			if math.Abs(v-want[i]) > 1e-12 {
				t.Errorf("factor %g: number %d is %v, want %v", factor, i, v, want[i])
				break
			}
		}
	}
}

// TestColumnsAsTheyAreMustSuit32Bits: raw columns are computed with in 32 bits, where they
// would become 0, infinite or all alike.
func TestColumnsAsTheyAreMustSuit32Bits(t *testing.T) {
	for _, c := range []struct {
		factor, offset float64
		says           string
	}{
		{1, 0, ""}, {1e-12, 0, ""}, {1e12, 0, ""}, {1, 1000, ""},
		{1e-300, 0, "no column holds numbers that differ by more than"},
		{1e-40, 0, "too little to be squared in 32 bits"},
		{1e20, 0, `column "a" holds 2.99`},
		{1e300, 0, "too large to be squared in 32 bits"},
		{1, 1e9, "are lost in 32 bits"},
	} {
		tab := scaledTable(t, c.factor, c.offset)
		_, err := FitEncoder(tab, allRows(tab.Rows()), EncodeOptions{Raw: true})
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, ErrRange) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("factor %g, offset %g: %v, want %q", c.factor, c.offset, err, c.says)
		}
	}
	tab := scaledTable(t, 1e-321, 0)
	if _, err := FitEncoder(tab, allRows(tab.Rows()), EncodeOptions{}); err == nil || !strings.Contains(err.Error(), "whose deviation no number of 64 bits holds in full") {
		t.Errorf("numbers of a few digits: %v", err)
	}
}

func TestOtherRowsMustBeOfTheSameUnit(t *testing.T) {
	tab, far := scaledTable(t, 1, 0), scaledTable(t, 1e30, 0)
	for says, raw := range map[string]bool{`line 2, column "b" is 1.`: false, `line 2, column "b" holds 1e+30, which is too large`: true} {
		e, err := FitEncoder(tab, allRows(tab.Rows()), EncodeOptions{Raw: raw})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Encode(far, []int{0}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("raw %v: %v, want %q", raw, err, says)
		}
	}
}

func TestANumberFarFromAllOthersIsSuspect(t *testing.T) {
	tab := scaledTable(t, 1, 0)
	if got := tab.Suspects(); len(got) > 0 {
		t.Errorf("%q", got)
	}
	tab.Columns[1].Numbers[4] = 1e300
	if got := tab.Suspects(); len(got) != 1 || !strings.Contains(got[0], `line 6, column "b": 1e+300 lies so far from the others`) {
		t.Errorf("%q", got)
	}
}
