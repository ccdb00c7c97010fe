package losses

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// document is docs/losses.md: sections by title, and the boxes in them.
type document struct {
	sections map[string]string
	boxes    []box
}

// box is a fenced block: its lines split into words, the section that it is in.
type box struct {
	kind, name, section string
	lines               [][]string
}

// field returns the words after the key of a line.
func (b box) field(key string) ([]string, bool) {
	for _, l := range b.lines {
		if l[0] == key {
			return l[1:], true
		}
	}
	return nil, false
}

func readDocument(t *testing.T) document {
	t.Helper()
	text, err := os.ReadFile("../docs/losses.md")
	if err != nil {
		t.Fatal(err)
	}
	d := document{sections: map[string]string{}}
	section, open := "", false
	for line := range strings.SplitSeq(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "```") && !open:
			open = true
			words := append(strings.Fields(line[3:]), "", "")
			d.boxes = append(d.boxes, box{kind: words[0], name: words[1], section: section})
		case strings.HasPrefix(line, "```"):
			open = false
		case open:
			b := &d.boxes[len(d.boxes)-1]
			b.lines = append(b.lines, strings.Fields(line))
		case strings.HasPrefix(line, "## "):
			section = line[3:]
		case strings.HasPrefix(line, "# "):
			section = ""
		}
		if !open {
			d.sections[section] += line + "\n"
		}
	}
	return d
}

// matrix reads a box of distances.
func (d document) matrix(t *testing.T, name string) *Matrix {
	t.Helper()
	for _, b := range d.boxes {
		if b.name != name || b.kind != "batch" && b.kind != "classes" {
			continue
		}
		m := &Matrix{SelfColumns: b.kind == "batch"}
		for _, l := range b.lines[1:] {
			m.RowLabels = append(m.RowLabels, int(number(t, l[1])))
			for _, w := range l[2:] {
				m.V = append(m.V, number(t, w))
			}
		}
		m.Rows, m.Cols = len(m.RowLabels), len(m.V)/len(m.RowLabels)
		m.ColLabels = m.RowLabels
		if !m.SelfColumns {
			m.ColLabels = nil
			for _, w := range b.lines[0][1:] {
				m.ColLabels = append(m.ColLabels, int(number(t, w)))
			}
		}
		return m
	}
	t.Fatalf("no batch %q", name)
	return nil
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func numbersOf(t *testing.T, words []string) []float64 {
	t.Helper()
	var list []float64
	for _, w := range words {
		list = append(list, number(t, w))
	}
	return list
}

// arithmetic evaluates an expression of numbers and the functions of a pocket
// calculator.
func arithmetic(t *testing.T, text string) float64 {
	t.Helper()
	e, err := parser.ParseExpr(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	one := map[string]func(float64) float64{
		"log": math.Log, "exp": math.Exp, "sqrt": math.Sqrt, "tanh": math.Tanh, "cosh": math.Cosh, "acosh": math.Acosh, "cos": math.Cos, "acos": math.Acos,
		"rad": func(x float64) float64 { return x * math.Pi / 180 },
	}
	var eval func(e ast.Expr) float64
	eval = func(e ast.Expr) float64 {
		switch e := e.(type) {
		case *ast.BasicLit:
			return number(t, e.Value)
		case *ast.ParenExpr:
			return eval(e.X)
		case *ast.UnaryExpr:
			return -eval(e.X)
		case *ast.BinaryExpr:
			x, y := eval(e.X), eval(e.Y)
			return map[token.Token]float64{token.ADD: x + y, token.SUB: x - y, token.MUL: x * y, token.QUO: x / y}[e.Op]
		case *ast.CallExpr:
			name := e.Fun.(*ast.Ident).Name
			if name == "pow" {
				return math.Pow(eval(e.Args[0]), eval(e.Args[1]))
			}
			return one[name](eval(e.Args[0]))
		}
		t.Fatalf("%s: cannot evaluate %T", text, e)
		return 0
	}
	return eval(e)
}

// want checks the box's value line: what the program computes, the arithmetic,
// and the number that is printed.
func (b box) want(t *testing.T, got float64) {
	t.Helper()
	words, ok := b.field("value")
	if !ok {
		t.Fatal("no value")
	}
	expression, printed, ok := strings.Cut(strings.Join(words, " "), " = ")
	if !ok {
		t.Fatal("no = in the value")
	}
	if worked := arithmetic(t, expression); math.Abs(worked-got) > 1e-9*(1+math.Abs(got)) || math.Abs(number(t, printed)-got) > 5.1e-7*(1+math.Abs(got)) {
		t.Errorf("the program says %.6f, the arithmetic %.6f, the text %s", got, worked, printed)
	}
}

func (b box) params(t *testing.T) map[string]string {
	words, _ := b.field("with")
	params := map[string]string{}
	for _, w := range words {
		k, v, ok := strings.Cut(w, "=")
		if !ok {
			t.Fatalf("%q is no name=value", w)
		}
		params[k] = v
	}
	return params
}

func TestWorkedExamplesInTheDocument(t *testing.T) {
	d := readDocument(t)
	for i, b := range d.boxes {
		if b.kind != "example" {
			continue
		}
		what := b.lines[0]
		t.Run(fmt.Sprintf("%d %s", i, strings.Join(what, " ")), func(t *testing.T) {
			switch what[0] {
			case "metric":
				m, err := metric.Parse(what[1])
				if err != nil {
					t.Fatal(err)
				}
				x, _ := b.field("a")
				y, _ := b.field("b")
				b.want(t, m.Value64(numbersOf(t, x), numbersOf(t, y)))
			case "loss":
				d.checkLoss(t, b, what[1])
			case "term":
				d.checkTerm(t, b, what[1])
			case "miner":
				d.checkMiner(t, b, what[1])
			case "pairs":
				d.checkPairs(t, b, what[1])
			default:
				t.Fatalf("unknown kind of example %q", what[0])
			}
		})
	}
}

func (d document) checkLoss(t *testing.T, b box, name string) {
	dim, _ := b.field("dim")
	o := Options{Metric: euclidean, Classes: 3, Params: b.params(t), Dim: 4}
	if len(dim) == 1 {
		o.Dim = int(number(t, dim[0]))
	}
	l, err := New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	on, _ := b.field("on")
	m := d.matrix(t, on[0])
	r, err := l.Eval(m, make([]float64, len(m.V)))
	if err != nil {
		t.Fatal(err)
	}
	b.want(t, r.Value)
	terms, _ := b.field("terms")
	if got := fmt.Sprintf("%d of %d", r.Active, r.Total); got != strings.Join(terms, " ") {
		t.Errorf("%s terms, the text says %v", got, terms)
	}
}

func (d document) checkTerm(t *testing.T, b box, name string) {
	term, err := NewTerm(name, b.params(t))
	if err != nil {
		t.Fatal(err)
	}
	k := slices.IndexFunc(d.boxes, func(b box) bool { return b.kind == "rows" })
	var x []float64
	for _, l := range d.boxes[k].lines {
		x = append(x, numbersOf(t, l)...)
	}
	rows := len(d.boxes[k].lines)
	value, err := term.EvalRows(x, rows, len(x)/rows, make([]float64, len(x)))
	if err != nil {
		t.Fatal(err)
	}
	b.want(t, value)
}

// checkMiner compares the triplets that the loss triplet takes.
func (d document) checkMiner(t *testing.T, b box, name string) {
	v, err := readValues(tripletEntry(Options{Metric: euclidean, Scale: 1}).settings, map[string]string{"mining": name, "margin": "0.25"}, raw(Options{Metric: euclidean, Scale: 1}))
	if err != nil {
		t.Fatal(err)
	}
	v.dim = 4
	window, miner, err := tripletMining(Options{Metric: euclidean, Scale: 1}, v)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case window != nil:
		miner = *window
	case miner == nil:
		miner = AllWithin(v.real("margin"))
	}
	var out Triplets
	if err := miner.Mine(d.matrix(t, "pairs"), &out); err != nil {
		t.Fatal(err)
	}
	if counts, ok := b.field("counts"); ok {
		if len(out.Anchor) != int(number(t, counts[0])) {
			t.Errorf("%d triplets, the text says %s", len(out.Anchor), counts[0])
		}
		return
	}
	var got []string
	for k := range out.Anchor {
		got = append(got, letter(out.Anchor[k], out.Positive[k], out.Negative[k]))
	}
	if want, ok := b.field("picks"); !ok || !slices.Equal(got, want) && len(got)+len(want) > 0 {
		t.Errorf("picks %v, the text says %v", got, want)
	}
}

func (d document) checkPairs(t *testing.T, b box, name string) {
	miner := map[string]PairMiner{
		"multi-similarity": MultiSimilarityMiner{Epsilon: 0.15}, "pair-margin": PairMargin{PosMargin: 0.3, NegMargin: 0.7},
	}[name]
	var out Pairs
	if err := miner.Mine(d.matrix(t, "pairs"), &out); err != nil {
		t.Fatal(err)
	}
	for _, side := range []struct {
		name    string
		a, rest []int
	}{{"positive", out.PosAnchor, out.Positive}, {"negative", out.NegAnchor, out.Negative}} {
		var got []string
		for k := range side.a {
			got = append(got, letter(side.a[k], side.rest[k]))
		}
		if want, _ := b.field(side.name); !slices.Equal(got, want) {
			t.Errorf("%s pairs %v, the text says %v", side.name, got, want)
		}
	}
}

func letter(items ...int) string {
	s := ""
	for _, i := range items {
		s += string(rune('a' + i))
	}
	return s
}

// Every loss, term and metric has a section with its source, all of its
// parameters and an example, and so has every miner.
func TestDocumentIsComplete(t *testing.T) {
	d := readDocument(t)
	examples := map[string]bool{}
	for _, b := range d.boxes {
		if b.kind == "example" {
			examples[b.section+"/"+b.lines[0][1]] = true
			examples[b.section] = true
		}
	}
	check := func(name, source string, params []ParamInfo, byMatrix bool) {
		text, ok := d.sections[name]
		text = strings.Join(strings.Fields(text), " ")
		if !ok || byMatrix && !examples[name] {
			t.Errorf("%s has no section with an example", name)
			return
		}
		if !strings.Contains(text, "*Source: "+source) {
			t.Errorf("%s: the source is %q", name, source)
		}
		for _, p := range params {
			if !strings.Contains(text, "`"+p.Name+"`") {
				t.Errorf("%s: parameter %s is not mentioned", name, p.Name)
			}
		}
	}
	infos, err := List(euclidean, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range ListBatchTerms() {
		check(info.Name, info.Source, info.Params, false)
	}
	for _, info := range append(infos, ListTerms()...) {
		check(info.Name, info.Source, info.Params, !info.Layered)
		if info.Name != "triplet" {
			continue
		}
		k := slices.IndexFunc(info.Params, func(p ParamInfo) bool { return p.Name == "mining" })
		for name := range strings.SplitSeq(info.Params[k].Range, " | ") {
			section := name
			if name == "angular" {
				section = "angular-triplets"
			}
			if !examples[section+"/"+name] {
				t.Errorf("mining %s has no section with an example", name)
			}
		}
	}
	for _, info := range metric.Infos() {
		check(info.Metric.Kind.String(), info.Source, nil, true)
	}
}
