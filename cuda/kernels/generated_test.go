package kernels_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/cuda/kernels/digest"
)

// The host model includes the sources, which the go command does not see, and
// the PTX is made by a compiler that not every machine has.
func TestGeneratedFilesAreThoseOfTheSources(t *testing.T) {
	table, err := os.ReadFile("host/table_gen.h")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range kernels.Modules() {
		sources, err := digest.Of(os.DirFS("device"), module+".cu")
		if err != nil {
			t.Fatal(err)
		}
		want := "\n// Sources of " + module + ": " + sources + "\n"
		for path, text := range map[string]string{"host/table_gen.h": string(table), "ptx/" + module + ".ptx": ptx(t, module)} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is of other sources of %s: run go generate ./cuda/kernels", path, module)
			}
		}
	}
	sources, err := filepath.Glob("device/*.cu")
	if compiled, err2 := filepath.Glob("ptx/*.ptx"); err != nil || err2 != nil || len(sources) != len(kernels.Modules()) || len(compiled) != len(sources) {
		t.Errorf("sources %v, modules %v, PTX %v, %v, %v", sources, kernels.Modules(), compiled, err, err2)
	}
}

// ptx returns the text of a module.
func ptx(t *testing.T, module string) string {
	t.Helper()
	text, err := kernels.PTX(module)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEveryKernelIsInThePTXOfItsModule(t *testing.T) {
	seen := map[string]string{}
	for _, module := range kernels.Modules() {
		var entries []string
		for line := range strings.Lines(ptx(t, module)) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), ".visible .entry "); ok {
				name, _, _ := strings.Cut(rest, "(")
				entries = append(entries, name)
			}
		}
		slices.Sort(entries)
		names := kernels.Names(module)
		slices.Sort(names)
		if !slices.Equal(entries, names) {
			t.Errorf("the PTX of %s has %v, the sources %v", module, entries, names)
		}
		for _, name := range names {
			if seen[name] != "" {
				t.Errorf("%s is in %s and in %s", name, seen[name], module)
			}
			seen[name] = module
		}
		if want := ".version 7.0\n"; !strings.Contains(ptx(t, module), want) {
			t.Errorf("the PTX of %s lacks %q", module, want)
		}
		if size := len(ptx(t, module)); size > 1<<20 {
			t.Errorf("the PTX of %s has %d bytes, want at most 1 MiB: divide its source", module, size)
		}
	}
}

// A library function that the GPU does not have would show as an extern, an
// array that the compiler could not keep in registers as local memory.
func TestThePTXNeedsNeitherLibrariesNorLocalMemory(t *testing.T) {
	for _, module := range kernels.Modules() {
		for _, bad := range []string{".extern", "__local_depot"} {
			if i := strings.Index(ptx(t, module), bad); i >= 0 {
				t.Errorf("the PTX of %s has %.80q", module, ptx(t, module)[i:])
			}
		}
	}
}

// Modules run on every GPU that the engine takes, but for those of products of bfloat16,
// which it takes from compute capability 8.0 on.
func TestModulesAreForOldGPUs(t *testing.T) {
	for _, module := range kernels.Modules() {
		want := 70
		if module == "flash" {
			want = 80
		}
		if got := kernels.Capability(ptx(t, module)); got != want {
			t.Errorf("module %s is for compute capability %d, want %d", module, got, want)
		}
	}
	if got := kernels.Capability("no module"); got != 0 {
		t.Errorf("no module is for %d", got)
	}
}
