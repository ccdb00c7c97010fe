//go:build cgo

package native

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// withNCCL is a set of fakes with an NCCL that macros bend, if it can be loaded.
func withNCCL(t *testing.T, macros ...string) (*Set, error) {
	t.Helper()
	f := newFakes(t)
	f.build("cublas", "own/libcublas.so.13")
	f.build("cudnn", "own/libcudnn.so.9")
	f.build("nccl", "own/libnccl.so.2", macros...)
	s := f.load(Places{Own: []string{filepath.Join(f.root, "own")}}, f.driver())
	if err := s.Report.Err(); err != nil {
		t.Fatal(err)
	}
	return s, s.LoadNccl()
}

func TestNCCLSumsAndGathers(t *testing.T) {
	s, err := withNCCL(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Report.Libraries[2]; got.Name != "NCCL" || got.Version != "2.27.3" || !strings.HasSuffix(got.Path, "own/libnccl.so.2") {
		t.Errorf("found %+v", got)
	}
	id, err := s.Nccl.Invitation()
	if err != nil || len(id) != 128 || id[1] != 8 {
		t.Fatal(id, err)
	}
	x, px := pinned(t, s, 1, 2)
	y, py := pinned(t, s, 5, 6, 7)
	spans := []device.Span{{At: px, Numbers: 2}, {At: py, Numbers: 2}}
	if err := s.Nccl.Sum(spans, 7); err == nil || !strings.Contains(err.Error(), "outside of a group") {
		t.Errorf("got %v", err)
	}
	other := slices.Clone(id)
	other[127]++
	if err := s.Nccl.Join(other, 0, 3); err == nil || !strings.Contains(err.Error(), "ncclCommInitRank: invalid argument (status 4)") {
		t.Errorf("an invitation with one other byte: %v", err)
	}
	if err := s.Nccl.Join(id[:100], 0, 3); err == nil || !strings.Contains(err.Error(), "an invitation of 100 bytes, want 128") {
		t.Errorf("got %v", err)
	}
	if err := s.Nccl.Join(id, 2, 3); err != nil {
		t.Fatal(err)
	}
	if err := s.Nccl.Sum(spans, 7); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x, []float32{3, 6}) || !slices.Equal(y, []float32{15, 18, 7}) {
		t.Errorf("%v, %v", x, y)
	}
	z, pz := pinned(t, s, 0, 0, 0, 0, 0, 0)
	if err := s.Nccl.Gather(pz, device.Span{At: px, Numbers: 2}, 7); err != nil || !slices.Equal(z, []float32{3, 6, 3, 6, 3, 6}) {
		t.Errorf("%v, %v", z, err)
	}
	// A group of calls is closed even if one has failed: another stream is refused twice alike.
	for range 2 {
		if err := s.Nccl.Sum(spans, 8); err == nil || !strings.Contains(err.Error(), "ncclAllReduce: invalid argument: rank 1 is gone (status 4)") {
			t.Errorf("got %v", err)
		}
	}
	if err := errors.Join(s.Nccl.Since(), s.Nccl.Abort(), s.Nccl.Since(), s.Nccl.Abort()); err != nil {
		t.Error(err)
	}
}

func TestAnNCCLThatCannotBeUsedSaysWhy(t *testing.T) {
	for want, macros := range map[string][]string{
		"lacks ncclAllGather":                     {"WITHOUT_GATHER"},
		"is NCCL 2.13.4, 2.14 or later is needed": {"VERSION=21304"},
		"is NCCL 2.8.4, 2.14 or later is needed":  {"VERSION=2804"},
	} {
		s, err := withNCCL(t, macros...)
		var p Problem
		if !errors.As(err, &p) || !strings.Contains(p.What, want) || !strings.Contains(p.Advice, "pip install nvidia-nccl-cu13") {
			t.Errorf("%v: %v", macros, err)
		}
		if len(s.Report.Libraries) != 2 {
			t.Errorf("%v: %v", macros, s.Report.Libraries)
		}
	}
	s, err := withNCCL(t, "BROKEN")
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.Nccl.Invitation()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Nccl.Join(id, 0, 2); err != nil {
		t.Fatal(err)
	}
	if err := s.Nccl.Since(); err == nil || !strings.Contains(err.Error(), "remote process exited or there was a network error: rank 1 is gone (status 6)") {
		t.Errorf("got %v", err)
	}
}
