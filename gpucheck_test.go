package vernier_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkGPU runs bench/gpucheck.py with programs and a PyTorch that are scripts.
func checkGPU(t *testing.T, vernier, tests string, args ...string) (status int, output string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 to run bench/gpucheck.py")
	}
	script, err := os.ReadFile(filepath.Join("bench", "gpucheck.py"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"gpucheck.py": string(script),
		"vernier":     "#!/bin/sh\n" + vernier,
		"cuda.test":   "#!/bin/sh\n" + tests,
		"torch.py":    "raise ImportError('there is no PyTorch')\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(python, append([]string{filepath.Join(dir, "gpucheck.py")}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), string(out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, string(out)
}

const listed = `if [ "$1" = -test.list ]; then echo TestOnAGPUOne; exit 0; fi
`

func TestTheGPUCheckWithoutAGPUSaysThatNothingWasTested(t *testing.T) {
	status, out := checkGPU(t, "echo 'gpu       none found: no NVIDIA driver is loaded'", listed+"echo 'no GPU to test on: no NVIDIA driver'")
	if status != 3 {
		t.Errorf("exit status %d, want 3", status)
	}
	for _, want := range []string{"0 failures", "nothing was tested: no GPU to test on: none found: no NVIDIA driver is loaded", "resnet50, batch 32, bf16, train"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "ratio") {
		t.Errorf("a table of speeds without speeds:\n%s", out)
	}
}

func TestTheGPUCheckTellsFailuresByItsStatus(t *testing.T) {
	const vernier = `if [ "$1" = doctor ]; then echo 'gpu       cuda:0 Imaginary 100'; else echo '{"img_s": 100, "seconds": 1, "queries_s": 10}'; fi`
	if status, out := checkGPU(t, vernier, listed+"echo PASS"); status != 0 || !strings.Contains(out, "vit-s, batch 256, bf16, infer") || strings.Contains(out, "nothing was tested") {
		t.Errorf("exit status %d, want 0\n%s", status, out)
	}
	if status, out := checkGPU(t, vernier, listed+"echo '--- FAIL: TestOnAGPUOne'; exit 1", "--only", "tests"); status != 1 || !strings.Contains(out, "1 failures") {
		t.Errorf("exit status %d, want 1\n%s", status, out)
	}
	// What does not fit into the time is left out by its name.
	if status, out := checkGPU(t, vernier, listed+"echo PASS", "--only", "bench", "--minutes", "0.1"); status != 3 || !strings.Contains(out, "out of time") {
		t.Errorf("exit status %d, want 3\n%s", status, out)
	}
}
