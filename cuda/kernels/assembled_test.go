package kernels_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
)

// assembler finds NVIDIA's, which a CUDA SDK brings.
func assembler(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("ptxas"); err == nil {
		return path
	}
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if root := os.Getenv(name); root != "" {
			if path, err := exec.LookPath(filepath.Join(root, "bin", "ptxas")); err == nil {
				return path
			}
		}
	}
	if path, err := exec.LookPath("/usr/local/cuda/bin/ptxas"); err == nil {
		return path
	}
	t.Skip("there is no ptxas to assemble the kernels with, neither on PATH nor in CUDA_HOME/bin: a driver does it when it loads them")
	return ""
}

var (
	properties = regexp.MustCompile(`Function properties for (\w+)\s+(\d+) bytes stack frame`)
	unknown    = regexp.MustCompile(`Value '\w+' is not defined for option 'gpu-name'`)
)

// generation is ten times the compute capability of a name such as sm_90.
func generation(arch string) int {
	n := 0
	if _, err := fmt.Sscanf(arch, "sm_%d", &n); err != nil {
		panic(err)
	}
	return n
}

// The driver's own assembler would say what is wrong only on a GPU. Local memory, which
// is as slow as the device's other memory, is where registers do not suffice: no kernel
// has any.
func TestKernelsAreAssembledForEveryGeneration(t *testing.T) {
	ptxas := assembler(t)
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	for _, arch := range []string{"sm_70", "sm_75", "sm_80", "sm_90", "sm_100", "sm_120"} {
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			seen, want := 0, 0
			for _, module := range kernels.Modules() {
				if generation(arch) < kernels.Capability(ptx(t, module)) {
					continue // it is for later ones
				}
				want += len(kernels.Names(module))
				source := filepath.Join("ptx", module+".ptx")
				out, err := exec.Command(ptxas, "-v", "-arch="+arch, "-o", filepath.Join(t.TempDir(), "cubin"), source).CombinedOutput()
				if unknown.Match(out) {
					t.Skipf("%s does not know %s", ptxas, arch)
				}
				if err != nil {
					t.Fatalf("%s -arch=%s: %v\n%s", ptxas, arch, err, out)
				}
				for _, m := range properties.FindAllStringSubmatch(string(out), -1) {
					seen++
					if m[2] != "0" {
						t.Errorf("%s: %s bytes of local memory, want none", m[1], m[2])
					}
				}
			}
			if seen < want {
				t.Errorf("%s tells of %d kernels, want %d", ptxas, seen, want)
			}
		})
	}
}
