package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
)

// onnxTolerance is the largest difference between onnxruntime and Vernier that
// passes, as a part of the largest magnitude of an output.
const onnxTolerance = 1e-4

func newONNXEngine(t *testing.T) engine.Engine {
	t.Helper()
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	return eng
}

// runtimeFolder returns a folder with onnxruntime-node in its node_modules.
// VERNIER_ONNXRUNTIME names one, or is "install": then npm puts it into the
// folder for temporary files, once. Otherwise the test is skipped.
func runtimeFolder(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("VERNIER_ONNXRUNTIME")
	if folder == "" {
		t.Skip("skipped: onnxruntime was not run. VERNIER_ONNXRUNTIME=install gets it by npm; or set it to a folder where onnxruntime-node is installed")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("skipped: onnxruntime was not run, since node is not in PATH")
	}
	if folder == "install" {
		folder = filepath.Join(os.TempDir(), "vernier-onnxruntime")
		if err := installRuntime(folder); err != nil {
			t.Skipf("skipped: onnxruntime was not run, since npm could not install it: %v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "onnxruntime-node", "package.json")); err != nil {
		t.Fatalf("VERNIER_ONNXRUNTIME=%s: no onnxruntime-node there: %v", folder, err)
	}
	return folder
}

func installRuntime(folder string) error {
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "onnxruntime-node", "package.json")); err == nil {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	// Without its scripts, which would download libraries for GPUs.
	out, err := exec.Command("npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", "onnxruntime-node").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// onnxJob is a model with its inputs and what it should give.
type onnxJob struct {
	what  string
	model string
	in    []onnxTensor
	want  onnxTensor
	each  bool // every number is to agree by its own magnitude
}

// onnxTensor has numbers of type float32 or, in the file, uint8.
type onnxTensor struct {
	name  string
	dims  []int
	data  []float32
	uint8 bool
}

func (x onnxTensor) kind() string {
	if x.uint8 {
		return "uint8"
	}
	return "float32"
}

func (x onnxTensor) bytes() []byte {
	var b []byte
	for _, v := range x.data {
		if x.uint8 {
			b = append(b, uint8(v))
		} else {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return b
}

// runONNX runs jobs in onnxruntime and compares name, shape and numbers of the
// outputs.
func runONNX(t *testing.T, jobs []onnxJob) {
	t.Helper()
	folder := runtimeFolder(t)
	dir := t.TempDir()
	type input struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Dims []int  `json:"dims"`
		File string `json:"file"`
	}
	type job struct {
		Model  string  `json:"model"`
		Inputs []input `json:"inputs"`
		Output string  `json:"output"`
	}
	list := make([]job, len(jobs))
	for i, j := range jobs {
		list[i] = job{Model: j.model, Output: filepath.Join(dir, fmt.Sprintf("%d.out", i))}
		for k, x := range j.in {
			file := filepath.Join(dir, fmt.Sprintf("%d-%d.in", i, k))
			if err := os.WriteFile(file, x.bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			list[i].Inputs = append(list[i].Inputs, input{x.name, x.kind(), x.dims, file})
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "jobs.json")
	if err := os.WriteFile(script, text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", filepath.Join("testdata", "onnxruntime.js"), folder, script)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, &messages)
	}
	answers := json.NewDecoder(bytes.NewReader(out))
	for i, j := range jobs {
		var answer struct {
			Name  string
			Dims  []int
			Error string
		}
		if err := answers.Decode(&answer); err != nil {
			t.Fatalf("%s: no answer from node: %v\n%s", j.what, err, &messages)
		}
		if answer.Error != "" {
			t.Errorf("%s: %s", j.what, answer.Error)
			continue
		}
		if answer.Name != j.want.name || fmt.Sprint(answer.Dims) != fmt.Sprint(j.want.dims) {
			t.Errorf("%s: output %s %v, want %s %v", j.what, answer.Name, answer.Dims, j.want.name, j.want.dims)
			continue
		}
		raw, err := os.ReadFile(list[i].Output)
		if err != nil {
			t.Fatal(err)
		}
		compareONNX(t, j, raw)
	}
}

func compareONNX(t *testing.T, j onnxJob, raw []byte) {
	t.Helper()
	if len(raw) != 4*len(j.want.data) {
		t.Errorf("%s: %d bytes, want %d numbers", j.what, len(raw), len(j.want.data))
		return
	}
	largest, difference, own := 0., 0., 0.
	for i, want := range j.want.data {
		got := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		largest = max(largest, math.Abs(float64(want)))
		d := math.Abs(float64(got) - float64(want))
		difference = max(difference, d) // NaN stays
		if d > 0 {
			own = max(own, d/math.Abs(float64(want)))
		}
	}
	relative := difference / largest
	t.Logf("%s: largest difference %.2e of the largest magnitude %.3g, %.2e of a number's own", j.what, relative, largest, own)
	if !(relative <= onnxTolerance) {
		t.Errorf("%s: differs by %.3g of its largest magnitude, at largest %.3g is allowed", j.what, relative, onnxTolerance)
	}
	if j.each && !(own <= onnxTolerance) {
		t.Errorf("%s: a number differs by %.3g of itself, at largest %.3g is allowed", j.what, own, onnxTolerance)
	}
}
