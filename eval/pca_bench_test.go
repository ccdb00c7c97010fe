package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// gonumPCA is PCA by package stat.
func gonumPCA(t testing.TB, e *Embeddings, k int) *mat.Dense {
	t.Helper()
	x := centered(e)
	var pc stat.PC
	if !pc.PrincipalComponents(x, nil) {
		t.Fatal("no principal components")
	}
	var directions, at mat.Dense
	pc.VectorsTo(&directions)
	at.Mul(x, directions.Slice(0, e.H, 0, k))
	return &at
}

func normalRows(n, h int) *Embeddings {
	r := rand.New(rand.NewPCG(1, 2))
	e := &Embeddings{N: n, H: h, X: make([]float32, n*h)}
	for i := range e.X {
		e.X[i] = float32(r.NormFloat64()) / float32(1+i%h) // each coordinate with another variance
	}
	return e
}

func TestPCAIsThatOfGonumButForSigns(t *testing.T) {
	for _, size := range [][2]int{{50, 7}, {6, 20}} {
		e := normalRows(size[0], size[1])
		p, err := PCA(e, 3)
		if err != nil {
			t.Fatal(err)
		}
		want := gonumPCA(t, e, 3)
		for i := range e.N {
			for j := range 3 {
				if got, want := math.Abs(p.X[3*i+j]), math.Abs(want.At(i, j)); math.Abs(got-want) > 1e-9 {
					t.Fatalf("%v: row %d, axis %d: %v, want %v but for the sign", size, i, j, got, want)
				}
			}
		}
	}
}

func BenchmarkPCA(b *testing.B) {
	for _, size := range [][2]int{{2000, 128}, {300, 512}} {
		e := normalRows(size[0], size[1])
		b.Run(fmt.Sprintf("own/%dx%d", size[0], size[1]), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := PCA(e, 2); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("gonum/%dx%d", size[0], size[1]), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				gonumPCA(b, e, 2)
			}
		})
	}
}
