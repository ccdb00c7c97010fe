package native

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// PathVariable names the environment variable with folders that are searched
// for libraries before all others.
const PathVariable = "VERNIER_CUDA_PATH"

// Places are where libraries are looked for, in this order: the folders of
// PathVariable, the loader's own path, a CUDA installation, Python's packages.
type Places struct {
	Own     []string // of PathVariable
	Install []string // roots of CUDA installations
	Python  []string // site-packages folders
	// Keep leaves libraries loaded until the process ends, and with them the driver's.
	Keep bool
}

// FindPlaces reads the environment. Patterns in it are not expanded, but the
// usual homes of Python are.
func FindPlaces(env func(string) string) Places {
	var p Places
	p.Own = filepath.SplitList(env(PathVariable))
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if root := env(name); root != "" {
			p.Install = append(p.Install, root)
		}
	}
	p.Install = append(p.Install, "/usr/local/cuda")
	p.Install = append(p.Install, newestFirst("/usr/local/cuda-*")...)
	var roots []string
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if root := env(name); root != "" {
			roots = append(roots, root)
		}
	}
	for _, dir := range filepath.SplitList(env("PATH")) {
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, "python3")); err == nil {
			roots = append(roots, filepath.Dir(dir), filepath.Dir(filepath.Dir(real)))
		}
	}
	roots = append(roots, "/usr/local", "/usr", "/opt/conda")
	if home := env("HOME"); home != "" {
		roots = append(roots, filepath.Join(home, ".local"))
	}
	p.Python = filepath.SplitList(env("PYTHONPATH"))
	for _, root := range roots {
		for _, pattern := range []string{"lib/python3*/site-packages", "lib/python3*/dist-packages"} {
			p.Python = append(p.Python, newestFirst(filepath.Join(root, pattern))...)
		}
	}
	p.Python = unique(p.Python)
	return p
}

// HostPlaces are those of this process. What is loaded from them stays: NVIDIA's
// libraries hold a runtime with threads and registered kernels, which is not made to
// be unloaded.
func HostPlaces() Places {
	p := FindPlaces(os.Getenv)
	p.Keep = true
	return p
}

// Candidates lists the files that may be the library of that file name, such as
// libcudnn.so.9, best first. A bare name stands for the loader's own path.
func (p Places) Candidates(file string) []string {
	var list []string
	exists := func(dirs ...string) {
		for _, dir := range dirs {
			if path := filepath.Join(dir, file); isFile(path) {
				list = append(list, path)
			}
		}
	}
	for _, dir := range p.Own {
		exists(inside(dir)...)
	}
	list = append(list, file)
	for _, root := range p.Install {
		exists(filepath.Join(root, "lib64"), filepath.Join(root, "targets", machine(), "lib"), filepath.Join(root, "lib"))
	}
	for _, site := range p.Python {
		// One folder a package (nvidia/cublas/lib), or one for all (nvidia/cu13/lib).
		dirs, _ := filepath.Glob(filepath.Join(site, "nvidia", "*", "lib")) // the pattern is well formed
		exists(dirs...)
		exists(filepath.Join(site, "torch", "lib"))
	}
	return unique(list)
}

func machine() string {
	if runtime.GOARCH == "arm64" {
		return "sbsa-linux"
	}
	return "x86_64-linux"
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// newestFirst expands a pattern, larger names before smaller ones.
func newestFirst(pattern string) []string {
	list, _ := filepath.Glob(pattern) // no match and no folder are the same here
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(b, a) })
	return list
}

func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
