package linear

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/internal/golden"
)

// goldenSet is the data that a case names: standardized training and test rows.
type goldenSet struct {
	train, test           *mat.Dense
	trainLabels, testLabs []int
}

func loadGoldenSet(t *testing.T, c *golden.Case) goldenSet {
	t.Helper()
	name := c.Params.String("data", "")
	path := filepath.Join(filepath.Dir(c.Path), name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := golden.Decode(path, text)
	if err != nil {
		t.Fatal(err)
	}
	x, y := data.Inputs["x"], data.Inputs["y"].Ints()
	mean, std := data.Inputs["mean"].Data, data.Inputs["std"].Data
	d := x.Shape[1]
	pick := func(rows []int) (*mat.Dense, []int) {
		z, labels := mat.NewDense(len(rows), d, nil), make([]int, len(rows))
		for k, i := range rows {
			labels[k] = y[i]
			for j := range d {
				z.Set(k, j, (x.Data[i*d+j]-mean[j])/std[j])
			}
		}
		return z, labels
	}
	var s goldenSet
	s.train, s.trainLabels = pick(data.Inputs["train_index"].Ints())
	s.test, s.testLabs = pick(data.Inputs["test_index"].Ints())
	return s
}

func goldenPairs(c *golden.Case, a, b string) []Pair {
	x, y := c.Inputs[a].Ints(), c.Inputs[b].Ints()
	out := make([]Pair, len(x))
	for k := range out {
		out[k] = Pair{x[k], y[k]}
	}
	return out
}

func goldenMatrix(v golden.Tensor) *mat.Dense {
	return mat.NewDense(v.Shape[0], v.Shape[1], append([]float64{}, v.Data...))
}

func flat(m mat.Matrix) []float64 { return mat.DenseCopyOf(m).RawMatrix().Data }

// compareMetric compares everything that is printed of a metric. loose compares
// entries with the largest of their tensor.
func compareMetric(t *testing.T, c *golden.Case, s goldenSet, r *Result, loose bool) {
	t.Helper()
	m := r.M()
	near := func(what string, got []float64, want golden.Tensor) {
		t.Helper()
		limit := func(w float64) float64 { return c.Tolerance.ATol + c.Tolerance.RTol*math.Abs(w) }
		if loose {
			limit = func(float64) float64 { return c.Tolerance.ATol + c.Tolerance.RTol*golden.MaxAbs(want.Data) }
		}
		if err := golden.Compare(got, want.Data, limit); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if want, ok := c.Outputs["M"]; ok {
		near("M", flat(m), want)
	}
	if want, ok := c.Outputs["M_trace"]; ok {
		near("trace of M", []float64{mat.Trace(m)}, want)
	}
	if want, ok := c.Outputs["M_frobenius"]; ok {
		near("norm of M", []float64{mat.Norm(m, 2)}, want)
	}
	if want, ok := c.Outputs["M_diag"]; ok {
		diag := make([]float64, m.SymmetricDim())
		for i := range diag {
			diag[i] = m.At(i, i)
		}
		near("diagonal of M", diag, want)
	}
	if want, ok := c.Outputs["test_pair_distance"]; ok {
		p := c.Inputs["test_pairs"].Ints()
		pairs := make([]Pair, len(p)/2)
		for k := range pairs {
			pairs[k] = Pair{p[2*k], p[2*k+1]}
		}
		d, err := r.Distances(s.test, pairs)
		if err != nil {
			t.Fatal(err)
		}
		near("test pair distances", d, want)
	}
	compareError(t, c, s, r, "test_error_5nn", 0)
}

// compareError compares the 5-NN error on the test rows; slack is how many rows
// more may be wrong.
func compareError(t *testing.T, c *golden.Case, s goldenSet, r *Result, output string, slack int) {
	t.Helper()
	want, ok := c.Outputs[output]
	if !ok {
		return
	}
	got, err := KNN{}.Error(context.Background(), r, s.train, s.trainLabels, s.test, s.testLabs)
	if err != nil {
		t.Fatal(err)
	}
	if most := want.Scalar() + float64(slack)/float64(len(s.testLabs)); slack == 0 && math.Abs(got-want.Scalar()) > 1e-8 || got > most+1e-8 {
		t.Errorf("5-NN error is %v, want %v (%s)", got, want.Scalar(), output)
	}
}

// goldenLearners are tried in this order, the first prefix that fits counts.
var goldenLearners = []struct {
	prefix string
	run    func(*testing.T, *golden.Case, goldenSet)
}{
	{"euclidean_", goldenEuclidean},
	{"geigen_", goldenGEigen},
	{"gmml_", goldenGMML},
	{"itml_", goldenITML},
	{"lda_", goldenLDA},
	{"lfda_", goldenLFDA},
	{"lmnn_", goldenLMNN},
	{"lsml_", goldenLSML},
	{"mmc_diag_", goldenDiagonalMMC},
	{"mmc_", goldenMMC},
	{"nca_", goldenNCA},
	{"rca_", goldenRCA},
	{"sdml_", goldenSDML},
}

func TestGolden(t *testing.T) {
	golden.Walk(t, "linear", func(t *testing.T, c *golden.Case) {
		if strings.HasPrefix(c.Name, "data_") {
			s := loadGoldenSet(t, &golden.Case{Path: c.Path, Params: golden.Params{"data": filepath.Base(c.Path)}})
			if n, _ := s.train.Dims(); n == 0 {
				t.Error("no training rows")
			}
			return
		}
		for _, l := range goldenLearners {
			if strings.HasPrefix(c.Name, l.prefix) {
				s := loadGoldenSet(t, c)
				if want := c.Outputs["train_rows_used"]; want.Data != nil {
					if n := int(want.Scalar()); n < len(s.trainLabels) {
						s.train, s.trainLabels = selectRows(s.train, allRows(n)), s.trainLabels[:n]
					}
				}
				l.run(t, c, s)
				return
			}
		}
		t.Fatalf("no learner goes with case %q", c.Name)
	})
}
