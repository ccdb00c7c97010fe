package vernier_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// checkGPU runs bench/gpucheck.py with programs, an nvidia-smi (card) and a
// PyTorch that are scripts.
func checkGPU(t *testing.T, card, vernier, tests string, args ...string) (status int, output string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 to run bench/gpucheck.py")
	}
	dir := t.TempDir()
	for _, name := range []string{"gpucheck.py", "gputests.py", "photographs.py"} {
		script, err := os.ReadFile(filepath.Join("bench", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), script, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"vernier":    "#!/bin/sh\n" + trains + vernier,
		"cuda.test":  "#!/bin/sh\n" + tests,
		"nvidia-smi": "#!/bin/sh\n" + card,
		"torch.py":   "raise ImportError('there is no PyTorch')\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(python, append([]string{filepath.Join(dir, "gpucheck.py")}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1", "VERNIER_GPU_PHOTOGRAPHS=1")
	out, err := cmd.CombinedOutput()
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

const (
	noCard   = "echo no devices; exit 9"
	someCard = "echo Imaginary 100, 580.1"
	noDriver = `if [ "$1" = doctor ]; then echo 'gpu       none found'; else echo 'no NVIDIA driver: libcuda.so.1 is not found'; exit 1; fi`
)

func TestTheGPUCheckWithoutAGPUSaysThatNothingWasTested(t *testing.T) {
	status, out := checkGPU(t, noCard, noDriver, listed+"echo 'no GPU to test on: no NVIDIA driver: it is not found'")
	if status != 3 {
		t.Errorf("exit status %d, want 3", status)
	}
	for _, want := range []string{"0 failures", "nothing was tested: no GPU to test on: no NVIDIA driver: libcuda.so.1 is not found", "resnet50, batch 32, bf16, train"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "ratio") {
		t.Errorf("a table of speeds without speeds:\n%s", out)
	}
}

// A GPU that is there and not used is a failure, however the program says so.
func TestTheGPUCheckFailsWhereAGPUCannotBeUsed(t *testing.T) {
	const broken = `echo 'cuDNN is missing'; exit 1`
	for name, c := range map[string]struct{ card, vernier, tests, want string }{
		"a skip beside a card":                  {someCard, noDriver, "echo 'no GPU to test on: no NVIDIA driver'; echo '--- SKIP'", "skipped: no NVIDIA driver"},
		"no card, but not for want of a driver": {noCard, broken, "echo PASS", "cuDNN is missing"},
		"every line of an error":                {someCard, broken, "echo '    gpu_test.go:28: the GPU cannot be opened: one'; echo '        two'; echo '--- FAIL: x'; exit 1", "the GPU cannot be opened: one; two\n"},
	} {
		status, out := checkGPU(t, c.card, c.vernier, listed+c.tests, "--only", "tests")
		if status != 1 || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit status %d, want 1 and %q in\n%s", name, status, c.want, out)
		}
	}
}

// doctor only informs: what counts is whether a first product is computed.
func TestTheGPUCheckDoesNotDecideByTheDoctor(t *testing.T) {
	const vernier = `if [ "$1" = doctor ]; then echo 'gpu       cuda:1 is not used: too old'; else echo '{"case": "stem-forward", "img_s": 100, "seconds": 1, "queries_s": 10, "trace": {"seconds": 0.05, "operations": 0.04, "kinds": [{"kind": "conv", "seconds": 0.025, "share": 0.5}]}, "convolutions_without_cudnn": 0}'; fi`
	if status, out := checkGPU(t, someCard, vernier, listed, "--only", "bench"); status != 0 || !strings.Contains(out, "100.0 images/s") || !strings.Contains(out, "convolutions without cuDNN: 0, in") {
		t.Errorf("exit status %d, want 0\n%s", status, out)
	}
	if status, out := checkGPU(t, someCard, strings.Replace(vernier, `cudnn": 0`, `cudnn": 2`, 1), listed, "--only", "bench"); status != 1 || !strings.Contains(out, "2 convolutions are computed without cuDNN") {
		t.Errorf("exit status %d, want 1\n%s", status, out)
	}
}

const computing = `if [ "$1" = doctor ]; then echo 'gpu       cuda:0 Imaginary 100'; else echo '{"case": "stem-forward", "img_s": 100, "seconds": 1, "queries_s": 10, "trace": {"seconds": 0.05, "operations": 0.04, "kinds": [{"kind": "conv", "seconds": 0.025, "share": 0.5}]}}'; fi`

// trains is the part of a program that leaves a run's log.
const trains = `if [ "$1" = train ]; then
	while [ $# -gt 0 ] && [ "$1" != --out ]; do shift; done
	[ $# -gt 0 ] || exit 0
	mkdir -p "$2"
	for i in 1 2 3 4; do echo '{"event": "step", "seconds": 0.5}'; done >"$2/log.jsonl"
	echo '{"event": "trace", "traced": 3, "seconds": 0.5, "waiting": 0.125}' >>"$2/log.jsonl"
	echo "kind  calls" >"$2/trace.txt"
	exit 0
fi
`

func TestTheGPUCheckTellsFailuresByItsStatus(t *testing.T) {
	if status, out := checkGPU(t, someCard, computing, listed+"echo PASS"); status != 0 || !strings.Contains(out, "photographs prepared: a step") || !strings.Contains(out, "vit-s, batch 256, bf16, infer") || strings.Contains(out, "nothing was tested") {
		t.Errorf("exit status %d, want 0\n%s", status, out)
	}
	if status, out := checkGPU(t, someCard, computing, listed+"echo '--- FAIL: TestOnAGPUOne'; exit 1", "--only", "tests"); status != 1 || !strings.Contains(out, "1 failures") {
		t.Errorf("exit status %d, want 1\n%s", status, out)
	}
	for _, want := range []string{"train, photographs prepared: of 500.00 ms a step 12.5% waiting for pictures, in 3 traced steps", "resnet50, ms by kind of op in the device's queue: conv 25.00 (50%); all 40.00 of 50.00"} {
		if _, out := checkGPU(t, someCard, computing, listed+"echo PASS", "--only", "bench"); !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	// What does not fit into the time is left out by its name.
	if status, out := checkGPU(t, someCard, computing, listed+"echo PASS", "--only", "bench", "--minutes", "0.1"); status != 3 || !strings.Contains(out, "out of time") {
		t.Errorf("exit status %d, want 3\n%s", status, out)
	}
}

// One part fails, one ends the process, and one hangs: each costs itself alone.
func TestTheGPUCheckGoesOnAfterAPartThatFails(t *testing.T) {
	const tests = listed + `
[ "$CUDA_LAUNCH_BLOCKING" = 1 ] && exit 0
part() { # name, what it does
	case "$skip" in *"$1"*) return;; esac
	echo "=== RUN   TestOnAGPUOne/$1"
	eval "$2"
	echo "    --- PASS: TestOnAGPUOne/$1 (0.00s)"
}
skip=""; case "$*" in *-test.skip*) skip="$*";; esac
echo "=== RUN   TestOnAGPUOne"
part sums :
part products 'echo "    gpu_test.go:9: 3, want 4"; echo "    --- FAIL: TestOnAGPUOne/products (0.00s)"; sleep 30'
part pools 'echo "SIGSEGV: segmentation violation"; exit 2'
part hangs 'sleep 60'
part last :
echo "--- PASS: TestOnAGPUOne (0.00s)"`
	t.Setenv("VERNIER_GPU_PART_SECONDS", "2")
	status, out := checkGPU(t, someCard, computing, tests, "--only", "tests", "--minutes", "1")
	if status != 1 {
		t.Errorf("exit status %d, want 1", status)
	}
	for name, want := range map[string]string{"sums": "passed", "products": "FAILED", "pools": "FAILED", "hangs": "FAILED", "last": "passed"} {
		if !regexp.MustCompile(`(?m)^TestOnAGPUOne/` + name + ` +` + want + ` `).MatchString(out) {
			t.Errorf("%s is not %s in\n%s", name, want, out)
		}
	}
	for _, want := range []string{"gpu_test.go:9: 3, want 4", "SIGSEGV: segmentation violation", "not done after 2 s", "3 failures", "TestOnAGPUOne/products, CUDA_LAUNCH_BLOCKING=1", "gpu-summary.txt"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
