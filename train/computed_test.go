package train

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/run"
)

// posing is an engine that says it is another.
type posing struct {
	engine.Engine
	info engine.Info
}

func (p posing) Info() engine.Info { return p.info }

// Every start of a run says in its log what computes, and one that continues in another
// precision, or on another device, is warned of.
func TestARunRecordsWhatComputesIt(t *testing.T) {
	h100 := engine.Info{Kind: engine.CUDA, Device: "NVIDIA H100", Precision: "bf16"}
	tf32, exact := h100, h100
	tf32.Precision, exact.Deterministic = "tf32", true
	host := newTestEngine(t)
	s, folder := beginOn(t, smallConfig(t, shades(t, 8, 4)), posing{host, h100})
	s.Close()
	want := []engine.Info{h100}
	for _, c := range []struct {
		now  engine.Info
		warn string // empty for no warning
	}{
		{h100, ""},
		{tf32, "computed in bf16 so far (cuda NVIDIA H100, bf16), and continues in tf32 (cuda NVIDIA H100, tf32)"},
		{exact, "began with other kernels (cuda NVIDIA H100, bf16, now cuda NVIDIA H100, bf16, deterministic)"},
	} {
		if got, err := folder.Engine(""); err != nil || got != h100 {
			t.Errorf("the checkpoint is of %v, %v", got, err)
		}
		var h listening
		s, err := Resume(context.Background(), folder, posing{host, c.now}, Options{Workers: 1, Events: &h})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if (c.warn == "") != (len(h.warnings) == 0) || !strings.Contains(strings.Join(h.warnings, " "), c.warn) {
			t.Errorf("on %v: warned %q, want %q", c.now, h.warnings, c.warn)
		}
		want = append(want, c.now)
	}
	h := listening{}
	s, err := Resume(context.Background(), folder, host, Options{Workers: 1, Events: &h, ModelOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	r, err := s.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if r.Engine != host.Info() || r.Engine.Kind != engine.CPU {
		t.Errorf("the results are of %v", r.Engine)
	}
	if got, err := folder.Engine(""); err != nil || got != host.Info() {
		t.Errorf("the last checkpoint is of %v, %v", got, err)
	}
	if got := startsOf(t, folder); !slices.Equal(got, append(want, host.Info())) {
		t.Errorf("the log tells of %v, want %v", got, want)
	}
}

// startsOf reads what the log says about starts.
func startsOf(t *testing.T, folder run.Folder) (list []engine.Info) {
	t.Helper()
	for _, r := range recordsOf(t, folder, "start", func(r startRecord) string { return r.Event }) {
		list = append(list, r.Engine)
	}
	return list
}
