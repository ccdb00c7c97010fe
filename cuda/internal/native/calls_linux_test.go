//go:build cgo

package native

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// complete is a set of fakes with handles, for stream 7.
func complete(t *testing.T, lt ...string) *Set {
	t.Helper()
	f := newFakes(t)
	f.build("cublas", "own/libcublas.so.13")
	f.build("cublaslt", "own/libcublasLt.so.13", lt...)
	f.build("cudnn", "own/libcudnn.so.9")
	s := f.load(Places{Own: []string{filepath.Join(f.root, "own")}}, f.driver())
	if err := s.Report.Err(); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{s.Blas.Attach(7), s.Dnn.Attach(7)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// pinned is memory outside Go, as the address of a fake device.
func pinned(t *testing.T, s *Set, v ...float32) ([]float32, device.Ptr) {
	t.Helper()
	p, err := s.Driver.AllocHost(int64(4 * len(v)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Driver.ReleaseHost(p) })
	x := unsafe.Slice((*float32)(p), len(v))
	copy(x, v)
	return x, device.Ptr(uintptr(p))
}

func TestProductsOfRowMajorMatrices(t *testing.T) {
	s := complete(t)
	_, a := pinned(t, s, 1, 2, 3, 4, 5, 6)  // (2, 3)
	_, at := pinned(t, s, 1, 4, 2, 5, 3, 6) // its transpose
	_, b := pinned(t, s, 1, 0, 2, 1, 0, 3)  // (3, 2)
	_, bt := pinned(t, s, 1, 2, 0, 0, 1, 3)
	want := []float32{5, 11, 14, 23}
	for _, g := range []device.Gemm{
		{A: a, LDA: 3, B: b, LDB: 2},
		{A: at, LDA: 2, TransA: true, B: b, LDB: 2},
		{A: a, LDA: 3, B: bt, LDB: 3, TransB: true},
		{A: at, LDA: 2, TransA: true, B: bt, LDB: 3, TransB: true, Precision: device.Full},
	} {
		got, c := pinned(t, s, 1, 1, 1, 1)
		g.M, g.N, g.K, g.C, g.LDC, g.Alpha = 2, 2, 3, c, 2, 1
		if err := s.Blas.Gemm(g); err != nil {
			t.Fatal(err)
		}
		g.Beta = 1
		if err := s.Blas.Gemm(g); err != nil { // adds the same again
			t.Fatal(err)
		}
		for i, w := range want {
			if got[i] != 2*w {
				t.Errorf("%+v: %v, want twice %v", g, got, want)
				break
			}
		}
	}
	got, c := pinned(t, s, 0, 0)
	err := s.Blas.Gemm(device.Gemm{M: 1, N: 1, K: 3, A: a, LDA: 3, StrideA: 3, B: bt, LDB: 3, TransB: true, StrideB: 3, C: c, LDC: 1, StrideC: 1, Batch: 2, Alpha: 1})
	if err != nil || got[0] != 5 || got[1] != 23 {
		t.Errorf("a batch: %v, %v, want 5 and 23", got, err)
	}
	list := func(p ...device.Ptr) device.Ptr { // addresses in pinned memory
		host, at := pinned(t, s, make([]float32, 2*len(p))...)
		copy(unsafe.Slice((*device.Ptr)(unsafe.Pointer(&host[0])), len(p)), p)
		return at
	}
	clear(got)
	err = s.Blas.Gemm(device.Gemm{M: 1, N: 1, K: 3, A: list(a+12, a), LDA: 3, B: list(bt+12, bt), LDB: 3, TransB: true, C: list(c, c+4), LDC: 1, Batch: 2, Addresses: true, Alpha: 1})
	if err != nil || got[0] != 23 || got[1] != 5 {
		t.Errorf("a batch by addresses: %v, %v, want 23 and 5", got, err)
	}
	err = s.Blas.Gemm(device.Gemm{M: 2, N: 2, K: 2, LDA: 1, LDB: 1, LDC: 1})
	if err == nil || !strings.Contains(err.Error(), "CUBLAS_STATUS_INVALID_VALUE (status 7)") {
		t.Errorf("a wrong call: %v", err)
	}
	if err := s.Blas.SetWorkspace(a, 24); err != nil {
		t.Error(err)
	}
	if s.Blas.SetWorkspace(a, 0) == nil {
		t.Error("no workspace is accepted")
	}
}

func TestConvolutionsAreChosenAndRun(t *testing.T) {
	s := complete(t)
	conv := device.Conv{N: 2, C: 3, H: 5, W: 6, K: 4, R: 3, S: 3, Ho: 5, Wo: 6, PadH: 1, PadW: 2, StrideH: 3, StrideW: 4}
	_, x := pinned(t, s, 3)
	_, w := pinned(t, s, 5)
	out, y := pinned(t, s, make([]float32, 8)...)
	const limit = 1 << 29
	for _, c := range []struct {
		change    func(*device.Conv)
		algorithm float32
		math      float32
		found     int
	}{
		{func(c *device.Conv) {}, 1, 0, 3},
		{func(c *device.Conv) { c.Deterministic = true }, 6, 0, 3}, // algorithm 2 needs too much memory, 4 cannot run
		{func(c *device.Conv) { c.Precision = device.Full }, 1, 3, 3},
		{func(c *device.Conv) { c.Type = device.BF16 }, 1, 1, 3},
	} {
		g := conv
		c.change(&g)
		o := device.Operands{X: x, W: w, Y: y}
		plan, err := s.Dnn.Plan(device.Forward, g, o, 0, limit)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Dnn.Run(device.Forward, plan, o, 0); err != nil {
			t.Fatal(err)
		}
		if out[0] != c.algorithm || out[2] != c.math || out[3] != 1234 || out[4] != 35 || int64(out[1]) != plan.Workspace || plan.Found != c.found {
			t.Errorf("%+v: ran %v by %+v", g, out, plan)
		}
		back := device.Operands{X: y, W: w, Y: x}
		if plan, err = s.Dnn.Plan(device.GradInput, g, back, 0, limit); err != nil {
			t.Fatal(err)
		}
		if err := s.Dnn.Run(device.GradInput, plan, back, 0); err != nil || out[4] != 53 || out[5] != 0 {
			t.Errorf("gradient of the input: %v, %v", out, err)
		}
		back.Accumulate = true
		if err := s.Dnn.Run(device.GradInput, plan, back, 0); err != nil || out[4] != 53 || out[5] != 1 {
			t.Errorf("gradient of the input, added: %v, %v", out, err)
		}
	}
	o := device.Operands{X: x, W: y, Y: w}
	plan, err := s.Dnn.Plan(device.GradWeights, conv, o, 0, limit)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Dnn.Run(device.GradWeights, plan, o, 0); err == nil || !strings.Contains(err.Error(), "gradient of the weights: CUDNN_STATUS_EXECUTION_FAILED (status 8)") {
		t.Errorf("a failing run: %v", err)
	}
	if _, err := s.Dnn.Plan(device.Forward, conv, o, 0, 1); !errors.Is(err, device.ErrNoAlgorithm) || !strings.Contains(err.Error(), "no algorithm in cuDNN within 0 MiB") {
		t.Errorf("without workspace: %v", err)
	}
	if err := s.Dnn.Run(device.Forward, device.Plan{Handle: 99}, o, 0); err == nil {
		t.Error("a plan of nobody is run")
	}
}

// Which of two algorithms is the faster one may change from run to run.
func TestADeterministicConvolutionIsChosenWithoutTiming(t *testing.T) {
	s := complete(t)
	conv := device.Conv{N: 2, C: 3, H: 5, W: 6, K: 4, R: 3, S: 3, Ho: 5, Wo: 6, PadH: 1, PadW: 1, StrideH: 1, StrideW: 1, Deterministic: true}
	_, x := pinned(t, s, 3)
	_, w := pinned(t, s, 5)
	_, y := pinned(t, s, make([]float32, 8)...)
	for _, dir := range []device.Direction{device.Forward, device.GradInput} {
		o := device.Operands{X: x, W: w, Y: y}
		if dir == device.GradInput {
			o.X, o.Y = y, x
		}
		for range 3 {
			plan, err := s.Dnn.Plan(dir, conv, o, 0, 1<<29)
			if err != nil || plan.Algorithm != 6 || plan.Workspace != 1<<11 || plan.Millis != 0 {
				t.Errorf("%v: %+v, %v, want the first that runs, algorithm 6", dir, plan, err)
			}
		}
	}
	_, err := s.Dnn.Plan(device.GradWeights, conv, device.Operands{X: x, W: y, Y: w}, 0, 1<<29)
	if err == nil || errors.Is(err, device.ErrNoAlgorithm) || !strings.Contains(err.Error(), "CUDNN_STATUS_EXECUTION_FAILED") {
		t.Errorf("one that fails: %v", err)
	}
}

func TestDriverFunctions(t *testing.T) {
	d := complete(t).Driver
	if err := d.BeginCapture(40); err != nil {
		t.Fatal(err)
	}
	g, err := d.EndCapture(40)
	if err != nil || g != 42 {
		t.Fatalf("graph %d, %v", g, err)
	}
	for _, err := range []error{d.LaunchGraph(g, 40), d.ReleaseGraph(g)} {
		if err != nil {
			t.Error(err)
		}
	}
	if err := d.LaunchGraph(g, 41); err == nil || !strings.Contains(err.Error(), "cuGraphLaunch: an error (CUDA_ERROR, error 1)") {
		t.Errorf("a failing launch: %v", err)
	}
	if _, err := d.AllocHost(1 << 30); err == nil || !strings.Contains(err.Error(), "out of memory (CUDA_ERROR_OUT_OF_MEMORY, error 2)") {
		t.Errorf("too much memory: %v", err)
	}
	if n, err := d.Processors(0); n != 132 || err != nil {
		t.Errorf("%d processors, %v", n, err)
	}
}
