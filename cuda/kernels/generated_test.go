package kernels_test

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/cuda/kernels/digest"
)

// The host model includes the sources, which the go command does not see, and
// the PTX is made by a compiler that not every machine has.
func TestGeneratedFilesAreThoseOfTheSources(t *testing.T) {
	want := "// Sources: " + digest.Of(os.DirFS("device"))
	for _, path := range []string{"host/table_gen.h", "kernels.ptx", "pairs.ptx"} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		in, found := bufio.NewScanner(f), false
		for range 3 {
			in.Scan()
			found = found || in.Text() == want
		}
		if !found {
			t.Errorf("%s is of other sources: run go generate ./cuda/kernels", path)
		}
	}
}

func all() string { return strings.Join(kernels.PTX(), "") }

func TestEveryKernelIsInThePTX(t *testing.T) {
	var entries []string
	for line := range strings.Lines(all()) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), ".visible .entry "); ok {
			name, _, _ := strings.Cut(rest, "(")
			entries = append(entries, name)
		}
	}
	slices.Sort(entries)
	names := kernels.Names()
	slices.Sort(names)
	if !slices.Equal(entries, names) {
		t.Errorf("the PTX has %v, the sources %v", entries, names)
	}
	for _, want := range []string{".version 7.0\n", ".target sm_70\n"} {
		if !strings.Contains(all(), want) {
			t.Errorf("the PTX lacks %q", want)
		}
	}
}

// A library function that the GPU does not have would show as an extern, an
// array that the compiler could not keep in registers as local memory.
func TestThePTXNeedsNeitherLibrariesNorLocalMemory(t *testing.T) {
	for _, bad := range []string{".extern", "__local_depot"} {
		if i := strings.Index(all(), bad); i >= 0 {
			t.Errorf("the PTX has %.80q", all()[i:])
		}
	}
}
