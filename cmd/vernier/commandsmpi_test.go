//go:build linux && cgo && (mpi || gpu)

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	"github.com/vernier-ml/vernier/internal/mpitest"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

// Processes under either launcher print and write what one does: a test set and folder of
// 35 images, which 3 processes do not share evenly.
func TestProcessesMeasureEmbedAndSearchAsOne(t *testing.T) {
	launchers := mpitest.Launchers(t)
	data := clitest.Stripes(t, 14, 5)
	model := filepath.Join(t.TempDir(), "run")
	train, said := binary(t, append(shared(data, model), "--epochs", "1", "--quiet")...)
	if err := train.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	classes, err := filepath.Glob(filepath.Join(data, "*"))
	if err != nil || len(classes) != 14 {
		t.Fatal(classes, err)
	}
	const flags = "--threads 1 --workers 1 --quiet --timeout 30s"
	commands := func(out string) (list [][]string) {
		for _, c := range []string{
			"eval " + model + " --no-cache --restarts 5",
			"eval " + model + " --no-cache --restarts 5 --json",
			"embed " + model + " " + data,
			"embed " + model + " " + data + " --out " + out + "/embedded.npz",
			"index " + model + " " + data + " --out " + out + "/images.index --no-cache",
			"search " + model + " --gallery " + out + "/images.index --query " + data + " -k 3 --json --no-cache",
			"search " + model + " --query FIRST -k 3 --no-cache",
		} {
			args := append(strings.Fields(c), strings.Fields(flags)...)
			if i := slices.Index(args, "FIRST"); i >= 0 {
				args[i] = classes[0] // with a space in its name
			}
			list = append(list, args)
		}
		return list
	}
	files := func(out string) (sums string) {
		for _, name := range []string{"embedded.npz", "images.index"} {
			sum, err := wholefile.Digest(filepath.Join(out, name))
			if err != nil {
				t.Fatal(err)
			}
			sums += fmt.Sprintf("%s %s\n", sum, name)
		}
		return sums
	}
	out := t.TempDir()
	var want []string
	for _, args := range commands(out) {
		cmd, said := binary(t, args...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, said)
		}
		want = append(want, strings.ReplaceAll(said.String(), out, "OUT"))
	}
	written := files(out)
	for _, launcher := range launchers {
		for _, size := range []int{3} {
			out := t.TempDir()
			for i, args := range commands(out) {
				got, err := launcher.Start(t, size, []string{asProgram + "=1"}, args...).Wait()
				if got = strings.ReplaceAll(got, out, "OUT"); err != nil || got != want[i] {
					t.Errorf("%s, %d processes, %v: %v\n%s\nwant\n%s", launcher.Name, size, args, err, got, want[i])
				}
			}
			if got := files(out); got != written {
				t.Errorf("%s, %d processes: wrote\n%swant\n%s", launcher.Name, size, got, written)
			}
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Processes time sums together and print one table; other benchmarks are refused.
func TestProcessesSumTogether(t *testing.T) {
	for _, launcher := range mpitest.Launchers(t) {
		out, err := launcher.Start(t, 2, []string{asProgram + "=1"}, "-q", "bench", "allreduce", "--seconds", "0.001", "--json").Wait()
		if lines := strings.Split(strings.TrimSpace(out), "\n"); err != nil || len(lines) != 4 || strings.Count(out, `"ranks":2`) != 4 {
			t.Errorf("%s: %v\n%s", launcher.Name, err, out)
		}
		out, err = launcher.Start(t, 2, []string{asProgram + "=1"}, "-q", "bench", "gemm").Wait()
		if err == nil || !strings.Contains(out, `as one of 2 processes, and "vernier bench" works as one`) {
			t.Errorf("%s: %v\n%s", launcher.Name, err, out)
		}
	}
}
