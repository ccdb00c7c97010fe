package golden

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const sample = `{"family": "f", "case": "c", "source": "by hand", "note": "n",
 "params": {"p": 2, "rate": 0.5, "far": "-Inf", "on": true, "off": 0, "name": "x", "none": null, "sub": {"k": 3}, "list": [4, 5]},
 "inputs": {"x": {"shape": [2, 2], "data": [1, "NaN", "Inf", "-Inf"]}, "s": {"shape": [], "data": [1.5]},
            "empty": {"shape": [0, 3], "data": []}},
 "outputs": {"n": {"shape": [2], "data": [9007199254740993, -1]}, "b": {"shape": [2], "data": [true, false]}, "w": {"shape": [1], "data": ["f923"]}},
 "tolerance": {"rtol": 1e-6, "atol": 1e-9}, "extra": "kept"}`

func decoded(t *testing.T) *Case {
	t.Helper()
	c, err := Decode("sample.json", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCaseMembers(t *testing.T) {
	c := decoded(t)
	if c.Family != "f" || c.Name != "c" || c.Source != "by hand" || c.Note != "n" || c.Path != "sample.json" {
		t.Errorf("got %+v", c)
	}
	if c.Tolerance != (Tolerance{1e-6, 1e-9}) {
		t.Errorf("tolerance %+v", c.Tolerance)
	}
	if string(c.Raw["extra"]) != `"kept"` {
		t.Errorf("extra member is %s", c.Raw["extra"])
	}
}

func TestTensorNumbers(t *testing.T) {
	c := decoded(t)
	x := c.Inputs["x"].Data
	if x[0] != 1 || !math.IsNaN(x[1]) || !math.IsInf(x[2], 1) || !math.IsInf(x[3], -1) {
		t.Errorf("x = %v", x)
	}
	if s := c.Inputs["s"].Scalar(); s != 1.5 {
		t.Errorf("scalar %v", s)
	}
	if n := c.Outputs["n"].Ints(); n[0] != 1<<53+1 || n[1] != -1 {
		t.Errorf("an integer beyond 2^53 lost digits: %v", n)
	}
	if b := c.Outputs["b"].Ints(); !slices.Equal(b, []int{1, 0}) {
		t.Errorf("booleans %v", b)
	}
	if w := c.Outputs["w"].Strings; !slices.Equal(w, []string{"f923"}) {
		t.Errorf("words %v", w)
	}
	if e := c.Inputs["empty"]; len(e.Data) != 0 || !slices.Equal(e.Shape, []int{0, 3}) {
		t.Errorf("empty tensor %+v", e)
	}
}

func TestParams(t *testing.T) {
	p := decoded(t).Params
	if p.Int("p", 0) != 2 || p.Int("absent", 7) != 7 || p.Int("none", 7) != 7 {
		t.Error("Int")
	}
	if p.Float("rate", 0) != 0.5 || !math.IsInf(p.Float("far", 0), -1) || p.Float("absent", 3) != 3 {
		t.Error("Float")
	}
	if !p.Bool("on", false) || p.Bool("off", true) || !p.Bool("absent", true) {
		t.Error("Bool")
	}
	if p.String("name", "") != "x" || p.String("absent", "y") != "y" {
		t.Error("String")
	}
	if !p.Has("p") || p.Has("absent") || p.Has("none") {
		t.Error("Has")
	}
	if p.Sub("sub").Int("k", 0) != 3 || !slices.Equal(p.Ints("list"), []int{4, 5}) || !slices.Equal(p.Ints("p"), []int{2}) {
		t.Error("Sub or Ints")
	}
}

func TestParamOfAnotherTypeIsNotTheDefault(t *testing.T) {
	p := decoded(t).Params
	for what, get := range map[string]func(){
		"string as int":   func() { p.Int("name", 1) },
		"fraction as int": func() { p.Int("rate", 1) },
		"bool as float":   func() { p.Float("on", 1) },
		"2 as bool":       func() { p.Bool("p", false) },
		"int as string":   func() { p.String("p", "") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was accepted", what)
				}
			}()
			get()
		}()
	}
}

func TestBadFilesAreRefused(t *testing.T) {
	for _, bad := range []struct{ text, want string }{
		{`{`, "unexpected end"},
		{`{"inputs": {"x": {"shape": [3], "data": [1, 2]}}}`, "wants 3 numbers"},
		{`{"inputs": {"x": {"shape": [-1], "data": []}}}`, "negative"},
		{`{"inputs": {"x": {"shape": [1], "data": [[1]]}}}`, "not a number"},
	} {
		_, err := Decode("bad.json", []byte(bad.text))
		if err == nil || !strings.Contains(err.Error(), bad.want) || !strings.Contains(err.Error(), "bad.json") {
			t.Errorf("%s: error %v, want one with bad.json and %q", bad.text, err, bad.want)
		}
	}
}

func TestCompare(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tight := func(float64) float64 { return 0.1 }
	if err := Compare([]float64{1.05, nan, inf}, []float64{1, nan, inf}, tight); err != nil {
		t.Error(err)
	}
	err := Compare([]float64{1, 2.5, 4}, []float64{1, 2, 3}, tight)
	if err == nil {
		t.Fatal("different numbers pass")
	}
	for _, part := range []string{"2 of 3", "first [1]", "off by 0.5", "largest error 1 at [2]"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v lacks %q", err, part)
		}
	}
	for _, pair := range [][2]float64{{nan, 1}, {1, nan}, {inf, -inf}, {inf, 1e300}} {
		if Compare(pair[:1], pair[1:], func(float64) float64 { return 1e308 }) == nil {
			t.Errorf("%v passes for %v", pair[0], pair[1])
		}
	}
	if Compare([]float64{1}, []float64{1, 2}, tight) == nil {
		t.Error("different lengths pass")
	}
}

// recorder catches failures that the code under test reports.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestClose32ScalesWithTheLargestMagnitude(t *testing.T) {
	want := Tensor{Shape: []int{2}, Data: []float64{100, 0}}
	for _, c := range []struct {
		off    float32
		failed bool
	}{{1.9e-3, false}, {2.1e-3, true}} {
		r := &recorder{TB: t}
		Close32(r, "x", []float32{100, c.off}, want)
		if r.failed != c.failed {
			t.Errorf("an error of %v beside 100: failed is %v", c.off, r.failed)
		}
	}
}

func TestClose64IsRelativeToEachNumber(t *testing.T) {
	want := Tensor{Shape: []int{2}, Data: []float64{100, 1}}
	for _, c := range []struct {
		got    []float64
		failed bool
	}{{[]float64{100.9, 1.009}, false}, {[]float64{100, 1.1}, true}} {
		r := &recorder{TB: t}
		Close64(r, "x", c.got, want, Tolerance{RTol: 1e-2})
		if r.failed != c.failed {
			t.Errorf("%v: failed is %v", c.got, r.failed)
		}
	}
}

func TestWalkReadsBothFolders(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "f"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f", "two.json"), []byte(sample), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv(Variable, dir)
	var seen []string
	fsys := fstest.MapFS{"f/one.json": {Data: []byte(sample)}, "f/readme.txt": {}, "g/other.json": {Data: []byte(sample)}}
	WalkFS(t, fsys, "f", func(_ *testing.T, c *Case) { seen = append(seen, c.Path) })
	if want := []string{filepath.Join("f", "one.json"), filepath.Join(dir, "f", "two.json")}; !slices.Equal(seen, want) {
		t.Errorf("walked %v, want %v", seen, want)
	}
}

func TestEmptyFamilyIsAnError(t *testing.T) {
	if _, err := list(fstest.MapFS{"f/readme.txt": {}}, "f"); err == nil || !strings.Contains(err.Error(), "f/*.json") {
		t.Errorf("error %v", err)
	}
}
