package main

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cuda"
)

func TestDoctorTellsProgramsToo(t *testing.T) {
	code, out, errs := vernier(t, "doctor", "--json")
	var r machineReport
	if err := json.Unmarshal([]byte(out), &r); code != cli.ExitDone || err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	if r.Cores != runtime.NumCPU() || len(r.Variants) == 0 || r.Memory < r.Available || r.GPUBuild != cuda.Built || r.GPUs == nil || r.Problems == nil {
		t.Errorf("%s", out)
	}

	r.addGPUs(cuda.Machine{Driver: "550"}, cuda.Report{
		CUDA: 12040, Problems: []cuda.Problem{{What: "cuDNN is missing", Advice: "install it"}},
		Devices: []cuda.Device{{Name: "GTX 1080", Major: 6, Minor: 1, Bytes: 8 << 30, Trouble: cuda.Problem{What: "too old", Advice: "buy"}}, {Name: "H100", Major: 9, Bytes: 80 << 30}},
	})
	if r.Driver != "550" || r.CUDA != "12.4" || len(r.GPUs) != 2 || r.GPUs[0].Trouble == nil || *r.GPUs[0].Trouble != (trouble{"too old", "buy"}) ||
		r.GPUs[0].Capability != "6.1" || r.GPUs[1].Trouble != nil || r.GPUs[1].Memory != 80<<30 || len(r.Problems) != 1 || r.Problems[0] != (trouble{"cuDNN is missing", "install it"}) {
		t.Errorf("%+v", r)
	}
}
