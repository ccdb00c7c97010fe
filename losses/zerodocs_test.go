package losses

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// The comment of every loss, and docs/losses.md, say what its zero value is, with the
// numbers that the catalog has.
func TestCommentsNameTheNumbersOfZeroValues(t *testing.T) {
	comments, table := typeComments(t), zeroTable(t)
	for _, name := range Names() {
		w, ok := inner(mustNew(t, name, Options{Metric: euclidean, Classes: 3, Dim: 4})).(written)
		if !ok {
			continue // without constants
		}
		typ := reflect.TypeOf(w).Elem()
		text, row := comments[typ.Name()], table[typ.Name()]
		if row == "" {
			t.Errorf("%s: docs/losses.md does not say what the zero value is", typ.Name())
		}
		if !strings.Contains(text, "zero value") {
			t.Errorf("%s: the comment does not say what the zero value is", typ.Name())
		}
		for _, similarity := range []bool{true, false} {
			zero := reflect.New(typ).Interface().(written)
			paper, err := zero.about().fromPaper(similarity)
			if err != nil {
				continue // written for the other direction, or a field is needed
			}
			v := reflect.ValueOf(paper).Elem()
			for i := range v.NumField() {
				if !typ.Field(i).IsExported() {
					continue
				}
				x := 0.
				if f := v.Field(i); f.CanFloat() {
					x = math.Abs(f.Float())
				} else if f.CanInt() {
					x = float64(f.Int())
				}
				number := strings.Replace(strconv.FormatFloat(x, 'g', 4, 64), "e-0", "e-", 1)
				if x > 1 && x == math.Trunc(x) {
					number = strconv.Itoa(int(x))
				}
				if x != 0 && !strings.Contains(text, number) {
					t.Errorf("%s: the comment does not say that %s is %s", typ.Name(), typ.Field(i).Name, number)
				}
				if x != 0 && typ.Field(i).Name != "Centers" && !strings.Contains(row, typ.Field(i).Name+" "+number) && !strings.Contains(row, typ.Field(i).Name+" -"+number) {
					t.Errorf("%s: docs/losses.md does not say that %s is %s", typ.Name(), typ.Field(i).Name, number)
				}
			}
		}
	}
	for _, x := range []any{EasyHard{}, Window{}, Uniform{}, AtMost{}, AngularMiner{}, DistanceWeighted{}, MultiSimilarityMiner{}, PairMargin{}, SEC{}, ZeroMean{}, Orthogonality{}, Term{}} {
		if name := reflect.TypeOf(x).Name(); name != "Term" && table[name] == "" {
			t.Errorf("%s: docs/losses.md does not say what the zero value is", name)
		}
		if name := reflect.TypeOf(x).Name(); !strings.Contains(comments[name], "zero value") && !strings.Contains(comments[name], "zero\nvalue") {
			t.Errorf("%s: the comment does not say what the zero value is", name)
		}
	}
}

// zeroTable reads the table of zero values in docs/losses.md, by struct.
func zeroTable(t *testing.T) map[string]string {
	t.Helper()
	rows, names := map[string]string{}, []string(nil)
	for line := range strings.SplitSeq(readDocument(t).sections["Losses in a Go program"], "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		if first := strings.TrimSpace(cells[1]); first != "" {
			names = strings.Split(strings.ReplaceAll(first, "`", ""), ", ")
		}
		for _, name := range names {
			rows[name] += cells[2]
		}
	}
	return rows
}

// typeComments reads the comments of the package's types.
func typeComments(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, s := range g.Specs {
					comments[s.(*ast.TypeSpec).Name.Name] = g.Doc.Text()
				}
			}
		}
	}
	return comments
}
