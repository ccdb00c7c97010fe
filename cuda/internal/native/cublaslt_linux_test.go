//go:build cgo

package native

import (
	"errors"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// biased is y = x w^T + bias, with x (3, 2), w (2, 2), as a linear layer has it.
func biased(t *testing.T, s *Set) (g device.Gemm, y []float32, want []float32) {
	t.Helper()
	_, x := pinned(t, s, 1, 2, 3, 4, 5, 6)
	_, w := pinned(t, s, 1, 0, 2, 1)
	_, bias := pinned(t, s, 10, 20)
	y, c := pinned(t, s, 1, 1, 1, 1, 1, 1)
	g = device.Gemm{TransB: true, M: 3, N: 2, K: 2, A: x, B: w, C: c, LDA: 2, LDB: 2, LDC: 2, Alpha: 1, Bias: bias}
	return g, y, []float32{11, 24, 13, 30, 15, 36}
}

func TestProductsWithABiasAreOfCublasLt(t *testing.T) {
	s := complete(t)
	_, space := pinned(t, s, make([]float32, 64)...)
	if err := s.Blas.SetWorkspace(space, 256); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		g, y, want := biased(t, s)
		if err := s.Blas.Gemm(g); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(y, want) {
			t.Errorf("%v, want %v", y, want)
		}
		g.Beta = 1
		if err := s.Blas.Gemm(g); err != nil || y[1] != 2*want[1] {
			t.Errorf("added to itself: %v, want twice %v (%v)", y, want, err)
		}
	}
	g, y, want := biased(t, s)
	residual, r := pinned(t, s, 1, 2, 3, 4, 5, 6)
	g.Residual, g.Beta = r, 1
	for i := range want {
		want[i] += residual[i]
	}
	if err := s.Blas.Gemm(g); err != nil || !slices.Equal(y, want) || !slices.Equal(residual, []float32{1, 2, 3, 4, 5, 6}) {
		t.Errorf("added to a residual: %v, want %v; the residual is %v (%v)", y, want, residual, err)
	}
	if n := len(s.Blas.lt.plans); n != 1 {
		t.Errorf("%d plans for one shape", n)
	}
	for what, p := range map[string]*device.Ptr{"bias": &g.Bias, "residual": &g.Residual} {
		*p += 4
		if err := s.Blas.Gemm(g); !errors.Is(err, device.ErrBias) {
			t.Errorf("a %s that is not aligned: %v", what, err)
		}
		*p -= 4
	}
	g.Bias = 0
	if err := s.Blas.Gemm(g); err == nil || errors.Is(err, device.ErrBias) {
		t.Errorf("a residual without a bias: %v", err)
	}
	if err := s.Blas.Detach(); err != nil {
		t.Error(err)
	}
}

// The gradient of weights, dy^T x, with the sums of dy, which are that of the bias.
func TestProductsWithSumsAreOfCublasLt(t *testing.T) {
	s := complete(t)
	_, space := pinned(t, s, make([]float32, 64)...)
	if err := s.Blas.SetWorkspace(space, 256); err != nil {
		t.Fatal(err)
	}
	_, dy := pinned(t, s, 1, 2, 3, 4, 5, 6) // (3, 2)
	_, x := pinned(t, s, 1, 0, 2, 0, 1, 1, 3, 0, 1)
	dw, c := pinned(t, s, 9, 9, 9, 9, 9, 9) // (2, 3)
	sums, at := pinned(t, s, 9, 9)
	g := device.Gemm{TransA: true, M: 2, N: 3, K: 3, A: dy, B: x, C: c, LDA: 2, LDB: 3, LDC: 3, Alpha: 1, SumsA: at}
	for range 2 {
		if err := s.Blas.Gemm(g); err != nil || !slices.Equal(dw, []float32{16, 3, 10, 20, 4, 14}) || !slices.Equal(sums, []float32{9, 12}) {
			t.Errorf("%v with sums %v (%v)", dw, sums, err)
		}
	}
	g.SumsA += 4
	if err := s.Blas.Gemm(g); !errors.Is(err, device.ErrBias) {
		t.Errorf("sums that are not aligned: %v", err)
	}
	g.SumsA -= 4
	g.Bias = at
	if err := s.Blas.Gemm(g); err == nil || errors.Is(err, device.ErrBias) {
		t.Errorf("a bias and sums: %v", err)
	}
}

// There is none, it is another one, it has no algorithm, or it refuses its own.
func TestWithoutCublasLtThereIsNoBias(t *testing.T) {
	for _, macro := range []string{"WITHOUT_MATMUL", "WITHOUT_BIAS", "REFUSING"} {
		s := complete(t, macro)
		_, space := pinned(t, s, make([]float32, 64)...)
		if err := s.Blas.SetWorkspace(space, 256); err != nil {
			t.Fatal(err)
		}
		g, y, _ := biased(t, s)
		for range 2 {
			if err := s.Blas.Gemm(g); !errors.Is(err, device.ErrBias) {
				t.Errorf("%s: %v", macro, err)
			}
		}
		if y[0] != 1 {
			t.Errorf("%s: something was computed: %v", macro, y)
		}
		g.Bias = 0
		if err := s.Blas.Gemm(g); err != nil || !slices.Equal(y, []float32{1, 4, 3, 10, 5, 16}) {
			t.Errorf("%s: without a bias: %v, %v", macro, y, err)
		}
	}
}
