package bench

import (
	"context"
	"slices"
	"testing"
)

func TestAPeerKeepsItsMemoryAndChoosesItsKernels(t *testing.T) {
	have := []string{"HOME=/h", "MALLOC_TOP_PAD_=1", "OPENBLAS_CORETYPE=Haswell", "OPENBLAS_L2_SIZE=1", "OPENBLAS_NUM_THREADS=2", peerVariable + "=x"}
	want := []string{"HOME=/h", "OPENBLAS_NUM_THREADS=2", "MALLOC_MMAP_THRESHOLD_=4294967296", "MALLOC_TRIM_THRESHOLD_=8589934592", "MALLOC_TOP_PAD_=268435456"}
	if got := peerEnvironment(have); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAPeersCommandSeesItsEnvironment(t *testing.T) {
	t.Setenv("OPENBLAS_CORETYPE", "Haswell")
	p := Peer{Command: `echo "{\"img_s\": $((MALLOC_TOP_PAD_ + 0$OPENBLAS_CORETYPE))}"`}
	r, err := p.run(context.Background(), "small-train")
	if err != nil || r.value != 268435456 {
		t.Errorf("got %v, %v", r.value, err)
	}
}
