package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cuda"
)

func TestDoctorTellsWhatTheFoldersOfLibrariesHave(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	t.Setenv(cuda.PathVariable, gone)
	code, out, errs := vernier(t, "doctor")
	if code != cli.ExitDone || !strings.Contains(out, cuda.PathVariable+" has "+gone+": there is no such folder") || !strings.Contains(out, "take it out") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

func TestDoctorSaysWhichGPUCannotBeUsed(t *testing.T) {
	var w strings.Builder
	line := func(what, format string, args ...any) { fmt.Fprintf(&w, what+" "+format+"\n", args...) }
	old := cuda.Device{Name: "GTX 1080", Major: 6, Bytes: 8 << 30, Trouble: cuda.Problem{What: "it has 6.1", Advice: "use a later one"}}
	lost := cuda.Device{Trouble: cuda.Problem{What: "error 3", Advice: "nvidia-smi"}}
	reportGPUs(cuda.Machine{Driver: "550"}, cuda.Report{CUDA: 12040, Devices: []cuda.Device{old, {Name: "H100", Major: 9, Bytes: 80 << 30}, lost}}, line)
	const want = `gpu cuda:0 GTX 1080, compute capability 6.0, 8.0 GiB; the driver knows CUDA 12.4
gpu cuda:0 is not used: it has 6.1
 -> use a later one
gpu cuda:1 H100, compute capability 9.0, 80.0 GiB; the driver knows CUDA 12.4
gpu cuda:2 is not used: error 3
 -> nvidia-smi
`
	if w.String() != want {
		t.Errorf("got\n%s", w.String())
	}
}
