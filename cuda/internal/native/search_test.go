package native

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func touch(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCandidatesComeInOrder(t *testing.T) {
	root := t.TempDir()
	own := touch(t, filepath.Join(root, "own", "libx.so.1"))
	install := touch(t, filepath.Join(root, "cuda", "targets", machine(), "lib", "libx.so.1"))
	venv := touch(t, filepath.Join(root, "venv", "lib", "python3.12", "site-packages", "nvidia", "cu13", "lib", "libx.so.1"))
	python := touch(t, filepath.Join(root, "py", "bin", "python3"))
	beside := touch(t, filepath.Join(root, "py", "lib", "python3.11", "site-packages", "torch", "lib", "libx.so.1"))
	env := map[string]string{
		PathVariable: filepath.Dir(own), "CUDA_HOME": filepath.Join(root, "cuda"), "VIRTUAL_ENV": filepath.Join(root, "venv"),
		"PATH": filepath.Dir(python),
	}
	p := FindPlaces(func(name string) string { return env[name] })
	if got, want := p.Candidates("libx.so.1"), []string{own, "libx.so.1", install, venv, beside}; !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestFoldersOfTheVariableAreToldWithWhatIsInThem(t *testing.T) {
	root := t.TempDir()
	touch(t, filepath.Join(root, "whole", "lib64", "libcublas.so.12"))
	touch(t, filepath.Join(root, "whole", "lib64", "libcublas.so.12.4.5"))
	touch(t, filepath.Join(root, "whole", "libcudnn.so.9"))
	file := touch(t, filepath.Join(root, "empty", "libcurand.so.10"))
	env := strings.Join([]string{filepath.Join(root, "whole"), filepath.Join(root, "empty"), filepath.Join(root, "gone"), file}, ":")
	p := FindPlaces(func(name string) string {
		if name == PathVariable {
			return env
		}
		return ""
	})
	got := p.Folders()
	want := []string{"whole: libcublas.so.12, libcudnn.so.9", "empty: neither it nor its lib64 or lib has libcublas.so.13", "gone: there is no such folder", "libcurand.so.10: it is no folder"}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i, w := range want {
		if !strings.Contains(got[i].String(), w) {
			t.Errorf("%q does not say %q", got[i], w)
		}
	}
}

func TestReleasesAreWrittenAsUsual(t *testing.T) {
	if got := Release(12040); got != "12.4" {
		t.Error(got)
	}
	if got := Release(13000); got != "13.0" {
		t.Error(got)
	}
}
