package linear

import (
	"bytes"
	"compress/gzip"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, text string, opt ReadOptions) *Table {
	t.Helper()
	tab, err := ReadTable(strings.NewReader(text), "t", opt)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestTablesInAllTheirForms(t *testing.T) {
	want := "1 2 x y"
	for what, c := range map[string]struct {
		text string
		opt  ReadOptions
	}{
		"header":              {"a,b,label\n1,2,x\n3,4,y\n", ReadOptions{}},
		"CRLF":                {"a,b,label\r\n1,2,x\r\n3,4,y\r\n", ReadOptions{}},
		"no last line end":    {"a,b,label\n1,2,x\n3,4,y", ReadOptions{}},
		"byte order mark":     {"\ufeffa,b,label\n1,2,x\n3,4,y\n", ReadOptions{}},
		"no header":           {"1,2,x\n3,4,y\n", ReadOptions{}},
		"no header, said":     {"1,2,x\n3,4,y\n", ReadOptions{Header: NoHeader}},
		"numbers as names":    {"1,2,3\n1,2,x\n3,4,y\n", ReadOptions{Header: WithHeader}},
		"semicolons":          {"a;b;label\n1;2;x\n3;4;y\n", ReadOptions{}},
		"tabs":                {"a\tb\tlabel\n1\t2\tx\n3\t4\ty\n", ReadOptions{}},
		"spaces":              {"a, b, label\n1, 2, x \n 3 ,4, y\n", ReadOptions{}},
		"label in front":      {"Class,a,b\nx,1,2\ny,3,4\n", ReadOptions{}},
		"label by name":       {"a,kind,b\n1,x,2\n3,y,4\n", ReadOptions{Label: "kind"}},
		"a column left out":   {"id,a,b,label\n7,1,2,x\n8,3,4,y\n", ReadOptions{Drop: []string{"id"}}},
		"quoted, with commas": {"a,b,label\n\"1\",2,x\n3,4,y\n", ReadOptions{}},
	} {
		tab := read(t, c.text, c.opt)
		if len(tab.Columns) != 2 || tab.Rows() != 2 || tab.Columns[0].Numbers[0] != 1 || tab.Columns[1].Numbers[0] != 2 ||
			!slices.Equal(tab.Classes, []string{"x", "y"}) || !slices.Equal(tab.Labels, []int{0, 1}) {
			t.Errorf("%s: got %+v, want %s", what, tab, want)
		}
	}
}

func TestLabelsWithSpacesAndGaps(t *testing.T) {
	tab := read(t, "a,label\n1,new york\n2,?\n3,\"los angeles, ca\"\n", ReadOptions{})
	if !slices.Equal(tab.Classes, []string{"los angeles, ca", "new york"}) || !slices.Equal(tab.Labels, []int{1, Unknown, 0}) {
		t.Errorf("classes %q, labels %v", tab.Classes, tab.Labels)
	}
}

func TestBadTablesAreNamed(t *testing.T) {
	for want, c := range map[string]struct {
		text string
		opt  ReadOptions
	}{
		"no rows":                {"", ReadOptions{}},
		"header but no row":      {"a,label\n", ReadOptions{}},
		"line 3 has 2 cells":     {"a,b,label\n1,2,x\n3,y\n", ReadOptions{}},
		`line 3, column "b"`:     {"a,b,label\n1,2,x\n3,oops,y\n4,5,x\n", ReadOptions{}},
		`"oops" is no number`:    {"a,b,label\n1,2,x\n3,oops,y\n4,5,x\n", ReadOptions{}},
		"is not finite":          {"a,label\n1,x\nInf,y\n", ReadOptions{}},
		`no label column "kind`:  {"a,label\n1,x\n", ReadOptions{Label: "kind"}},
		`no column "zip"`:        {"a,label\n1,x\n", ReadOptions{Categorical: []string{"zip"}}},
		`two columns are called`: {"a,a,label\n1,2,x\n", ReadOptions{}},
		"besides the label":      {"label\nx\n", ReadOptions{}},
		`the last one, "b", holds no classes (words or whole numbers that come back): which is the label? There are a, b`: {"a,b\n1,2.5\n3,4\n5,4\n6,4\n", ReadOptions{}},
		`the last one, "c2", holds no classes`: {"1,7\n3,8\n5,9\n", ReadOptions{}},
	} {
		if _, err := ReadTable(strings.NewReader(c.text), "t", c.opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", c.text, err, want)
		}
	}
}

func TestCompressedFiles(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte("a,label\n1,x\n2,y\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "two.rows.csv.gz")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	tab, err := ReadTableFile(path, ReadOptions{})
	if err != nil || tab.Name != "two.rows" || tab.Rows() != 2 {
		t.Errorf("read %+v (%v)", tab, err)
	}
	if err := os.WriteFile(path, b.Bytes()[:20], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTableFile(path, ReadOptions{}); err == nil || !strings.Contains(err.Error(), "two.rows.csv.gz") {
		t.Errorf("cut file: %v", err)
	}
}

func TestEncoderKnowsTrainingRowsOnly(t *testing.T) {
	tab := read(t, "size,color,same,label\n1,red,5,x\n3,blue,5,y\n100,green,6,x\n", ReadOptions{})
	e, err := FitEncoder(tab, []int{0, 1}, EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Names(); !slices.Equal(got, []string{"size", "color=blue", "color=red", "same"}) {
		t.Errorf("columns %q", got)
	}
	if !slices.Equal(e.Constant, []string{"same"}) {
		t.Errorf("constant columns %q", e.Constant)
	}
	x, err := e.Encode(tab, []int{0, 2})
	if err != nil {
		t.Fatal(err)
	}
	// Means and deviations of rows 0 and 1: 2 and 1; .5 and .5; 5 and 1. Row 2
	// has a category that training never saw.
	want := []float64{-1, -1, 1, 0, 98, -1, -1, 1}
	if !slices.Equal(x.RawMatrix().Data, want) {
		t.Errorf("encoded %v, want %v", x.RawMatrix().Data, want)
	}
}

func TestMissingValues(t *testing.T) {
	tab := read(t, "a,c,label\n1,u,x\n?,v,y\n3,NA,x\n8,u,y\n", ReadOptions{})
	all := []int{0, 1, 2, 3}
	if _, err := FitEncoder(tab, all, EncodeOptions{}); err == nil || !strings.Contains(err.Error(), `line 3, column "a" has no value`) {
		t.Errorf("refusing: %v", err)
	}
	for rule, want := range map[Missing]float64{ImputeMean: 4, ImputeMedian: 3} {
		e, err := FitEncoder(tab, all, EncodeOptions{Missing: rule, Raw: true})
		if err != nil {
			t.Fatal(err)
		}
		x, err := e.Encode(tab, all)
		if err != nil {
			t.Fatal(err)
		}
		if x.At(1, 0) != want || x.At(2, 1) != 0 || x.At(2, 2) != 0 {
			t.Errorf("%s: encoded %v", rule, x.RawMatrix().Data)
		}
	}
	if _, err := FitEncoder(tab, []int{1}, EncodeOptions{Missing: ImputeMean}); err == nil || !strings.Contains(err.Error(), `"a" has no value to impute`) {
		t.Errorf("nothing to impute from: %v", err)
	}
	if _, err := FitEncoder(tab, all, EncodeOptions{Missing: "zero"}); err == nil {
		t.Error("an unknown rule was taken")
	}
}

func TestEncoderRefusesOtherTables(t *testing.T) {
	e, err := FitEncoder(read(t, "a,b,label\n1,2,x\n3,4,y\n", ReadOptions{}), []int{0, 1}, EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Encode(read(t, "a,label\n1,x\n", ReadOptions{}), []int{0}); err == nil || !strings.Contains(err.Error(), `no column "b"`) {
		t.Errorf("missing column: %v", err)
	}
	if _, err := e.Encode(read(t, "a,b,label\n1,red,x\n", ReadOptions{}), []int{0}); err == nil || !strings.Contains(err.Error(), "categories") {
		t.Errorf("column of another kind: %v", err)
	}
}

func TestDuplicatesAcrossASplit(t *testing.T) {
	tab := read(t, "a,c,label\n1,u,x\n1,u,x\n1,u,y\n2,u,x\n", ReadOptions{})
	if equal, conflicting := Duplicates(tab, []int{0}, []int{1, 2, 3}); equal != 2 || conflicting != 1 {
		t.Errorf("%d equal, %d conflicting, want 2 and 1", equal, conflicting)
	}
}

func TestSplit(t *testing.T) {
	labels := []int{0, 1, -1, 0, 1, 1, 0, 0, 1, 0, 1}
	train, test, err := Split(labels, .8, 3)
	if err != nil || len(train) != 8 || len(test) != 2 {
		t.Fatalf("split %v %v (%v)", train, test, err)
	}
	all := append(append([]int{}, train...), test...)
	slices.Sort(all)
	if !slices.Equal(all, []int{0, 1, 3, 4, 5, 6, 7, 8, 9, 10}) {
		t.Errorf("rows %v", all)
	}
	for _, share := range []float64{0, 1, math.NaN(), .01} {
		if _, _, err := Split(labels, share, 3); err == nil {
			t.Errorf("a share of %v split", share)
		}
	}
}
