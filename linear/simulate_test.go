package linear

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/metric"
)

func TestEquidistantClassesAreRhoApart(t *testing.T) {
	p, err := EquidistantClasses(4, 2000, 10, 3, .1, .2, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, classes := byClass(p.Labels)
	var means [][]float64
	for _, c := range classes {
		m, _ := centeredScatter(p.X, c)
		means = append(means, m)
	}
	for i := range means {
		for j := range i {
			if d := math.Sqrt(squared(means[i], means[j])); math.Abs(d-3) > .05 {
				t.Errorf("centers %d and %d are %v apart, want 3", i, j, d)
			}
		}
	}
	if _, err := EquidistantClasses(4, 10, 3, 1, 0, 1, 1); err == nil {
		t.Error("4 equidistant centers found room in 3 columns beside a turn")
	}
}

func TestClosedFormRepairsTheTextbooksClassifier(t *testing.T) { // section 63.5: .733 to .967
	train, test, err := SplitRows(TwoClassesInNoise(150, 1), .7, 1)
	if err != nil {
		t.Fatal(err)
	}
	errorOf := func(r *Result) float64 {
		e, err := KNN{}.Error(t.Context(), r, train.X, train.Labels, test.X, test.Labels)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	learned := fit(t, GEigen{Lambda: 1e-6}, train)
	if before, after := errorOf(fit(t, Euclidean{}, train)), errorOf(learned); before < .2 || after > .08 {
		t.Errorf("error %v before, %v after", before, after)
	}
	// The leading direction is the informative axis, and each eigenvalue the
	// Rayleigh quotient of its direction.
	top := learned.L.RawRowView(0)
	if math.Abs(top[0]) < 20*math.Abs(top[1]) || math.Abs(top[0]) < 20*math.Abs(top[2]) {
		t.Errorf("leading direction %v", top)
	}
	s, d, ns, nd, err := pairScatters(train, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, mu := range learned.Eigenvalues {
		v := mat.NewVecDense(3, learned.L.RawRowView(i))
		if q := mat.Inner(v, d, v) / nd / (mat.Inner(v, s, v) / ns); math.Abs(q-mu) > 1e-5*mu {
			t.Errorf("eigenvalue %v, Rayleigh quotient %v", mu, q)
		}
	}
}

func writeIDX(t *testing.T, path string, shape []int, data []byte) {
	t.Helper()
	var b bytes.Buffer
	b.Write([]byte{0, 0, 8, byte(len(shape))})
	for _, s := range shape {
		if err := binary.Write(&b, binary.BigEndian, uint32(s)); err != nil {
			t.Fatal(err)
		}
	}
	b.Write(data)
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReadIDX(t *testing.T) {
	dir := t.TempDir()
	images, labels := filepath.Join(dir, "train-images-idx3-ubyte"), filepath.Join(dir, "train-labels-idx1-ubyte")
	writeIDX(t, images, []int{3, 1, 2}, []byte{0, 255, 51, 0, 102, 0})
	writeIDX(t, labels, []int{3}, []byte{7, 2, 7})
	tab, err := ReadIDX(dir, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if tab.Rows() != 3 || len(tab.Columns) != 2 || tab.Columns[1].Numbers[0] != 1 || tab.Columns[0].Numbers[1] != .2 || tab.Classes[tab.Labels[1]] != "2" {
		t.Errorf("read %+v", tab)
	}
	if some, err := ReadIDX(dir, 2, 1); err != nil || some.Rows() != 2 {
		t.Errorf("two rows: %v (%v)", some, err)
	}
	writeIDX(t, labels, []int{2}, []byte{7, 2})
	if _, err := ReadIDX(dir, 0, 1); err == nil || !strings.Contains(err.Error(), "3 images and 2 labels") {
		t.Errorf("labels missing: %v", err)
	}
	for want, data := range map[string][]byte{
		"bytes of data":     append([]byte{0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2}, 1, 2),
		"no IDX file":       bytes.Repeat([]byte{9}, 20),
		"a dimension of":    {0, 0, 8, 3, 255, 255, 255, 255, 0, 0, 0, 1, 0, 0, 0, 2},
		"unexpected EOF":    {0, 0, 8},
		"1 bytes of data, ": append([]byte{0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2}, 1),
	} {
		if err := os.WriteFile(images, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadIDX(dir, 0, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestModelFilesKeepTheMetric(t *testing.T) {
	tab := read(t, csvOf(blobs(3, 20, 4, 2)), ReadOptions{})
	e, err := FitEncoder(tab, allRows(60), EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := e.Encode(tab, allRows(60))
	if err != nil {
		t.Fatal(err)
	}
	project, err := Principal(x, 3)
	if err != nil {
		t.Fatal(err)
	}
	r := fit(t, quick(BRMR{Stochastic: Stochastic{Restriction: metric.SoftSign}}), &Problem{X: transform(x, project), Labels: tab.Labels})
	var b bytes.Buffer
	if err := NewModel(tab, e, project, r).Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	m, err := ReadModel(&b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Result().Distance(x.RawRowView(0), x.RawRowView(9))
	if err != nil {
		t.Fatal(err)
	}
	z := transform(x, project)
	want, err := r.Distance(z.RawRowView(0), z.RawRowView(9))
	if err != nil || math.Abs(got-want) > 1e-12 || m.Metric != r.Metric {
		t.Errorf("distance %v by %v, want %v by %v", got, m.Metric, want, r.Metric)
	}
	for _, bad := range []string{"", "{}", strings.Replace(text, ModelFormat, "other", 1), strings.Replace(text, `"std": [`, `"std": [1,`, 1), strings.Replace(text, `"L": [`, `"L": [[1],`, 1)} {
		if _, err := ReadModel(strings.NewReader(bad)); err == nil {
			t.Errorf("read %.60q", bad)
		}
	}
}

func TestConfigure(t *testing.T) {
	l, err := Configure(BRMR{}, map[string]string{"tau": ".2", "restriction": "softsign", "steps": "10", "P": "1"})
	if err != nil {
		t.Fatal(err)
	}
	if b := l.(BRMR); b.Tau != .2 || b.Restriction != metric.SoftSign || b.Steps != 10 || b.P != 1 {
		t.Errorf("configured %+v", b)
	}
	l, err = Configure(GMML{}, map[string]string{"t": "0"})
	if err != nil || *l.(GMML).T != 0 {
		t.Errorf("configured %+v (%v)", l, err)
	}
	if l, err = Configure(LMNN{}, map[string]string{"max-iterations": "9"}); err != nil || l.(LMNN).MaxIterations != 9 {
		t.Errorf("configured %+v (%v)", l, err)
	}
	for _, name := range Names() {
		l, err := New(name, Env{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range Settings(l) {
			if _, err := Configure(l, map[string]string{s: "weighted?"}); err == nil && s != "embedding" {
				t.Errorf("%s took %s=weighted?", name, s)
			}
		}
		if _, err := Configure(l, map[string]string{"seed": "1"}); err == nil {
			t.Errorf("%s took a seed as a setting", name)
		}
	}
}

func TestVerifyUsesUnseenPairs(t *testing.T) {
	tab := read(t, csvOf(blobs(3, 40, 20, 3)), ReadOptions{})
	c, err := Candidates([]string{"euclidean", "lda"})
	if err != nil {
		t.Fatal(err)
	}
	curves, err := Verify(t.Context(), tab, c, 500, Trials{})
	if err != nil {
		t.Fatal(err)
	}
	if e, l := curves[0].AUC(), curves[1].AUC(); l < .95 || l < e+.1 || curves[0].Positives != 500 {
		t.Errorf("AUC %v Euclidean, %v LDA, %d pairs", e, l, curves[0].Positives)
	}
}

func TestTalliesAndMarkdown(t *testing.T) {
	c := &Comparison{Table: "a", Rows: 9, Columns: 2, Classes: 2, Results: []TrialErrors{
		{Learner: "x", Errors: []float64{1, 1.1, .9}, Mean: 1}, {Learner: "y", Errors: []float64{5, 5.2, 4.9}, Mean: 5}, {Learner: "z", Failed: "no"},
	}}
	got := Tallies([]*Comparison{c}, "x", .05)
	if len(got) != 2 || got[0] != (Tally{"y", 1, 0, 0, 1}) || got[1] != (Tally{"z", 0, 0, 0, 0}) {
		t.Errorf("tallies %+v", got)
	}
	var b strings.Builder
	if err := WriteMarkdown(&b, []*Comparison{c}, []string{"y"}, .05); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| a (9, 2, 2) | **1.00 ± 0.00** | 5.00 ± 0.00 | failed |", "| y: win/tie/loss against | 0/0/1 | - | - |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
}

func TestPicturesAreDrawn(t *testing.T) {
	dir := t.TempDir()
	c := &Comparison{Table: "a", Results: []TrialErrors{{Learner: "x", Mean: 3, Std: 1}, {Learner: "y", Mean: 5, Std: .4}}}
	if err := PlotErrors(filepath.Join(dir, "bars.png"), "t", []*Comparison{c}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bars.png"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.HasPrefix(text, []byte("\x89PNG")) {
			t.Errorf("%s is no picture (%v)", name, err)
		}
	}
	if err := PlotErrors(filepath.Join(dir, "none.png"), "t", nil); err == nil {
		t.Error("a picture of nothing was drawn")
	}
	c.Table = "花"
	if err := PlotErrors(filepath.Join(dir, "named.png"), "t", []*Comparison{c}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "named-names.txt")); err != nil || string(text) != "(1)\t花\n" {
		t.Errorf("a name without glyphs: %q (%v)", text, err)
	}
}
