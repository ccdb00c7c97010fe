//go:build cgo

package native

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Set is all that the engine needs of NVIDIA's libraries, loaded.
type Set struct {
	Driver *Driver
	Blas   *Cublas
	Dnn    *Cudnn
	Nccl   *Nccl // after LoadNccl
	places Places
	helper []*library // what the others rely on, kept open
	Report Report
}

// Load finds and loads everything, and reports what it found. The set is
// complete if the report has no problems; Close releases it in any case.
func Load() *Set { return load(HostPlaces(), driverFiles[:]) }

func load(places Places, driver []string) *Set {
	s := &Set{places: places}
	if !s.loadDriver(driver, places.Keep) {
		return s
	}
	s.loadLibraries(places)
	return s
}

func (s *Set) problem(advice, format string, args ...any) {
	s.Report.Problems = append(s.Report.Problems, Problem{What: fmt.Sprintf(format, args...), Advice: advice})
}

// loadDriver reports whether there is a device to work on.
func (s *Set) loadDriver(files []string, keep bool) bool {
	d, err := openDriver(files, keep)
	if err != nil {
		s.Report.Problems = append(s.Report.Problems, unloadable(err))
		return false
	}
	s.Driver = d
	version, devices, err := d.start()
	s.Report.CUDA = version
	if err != nil {
		what, advice := explain(err)
		s.problem(advice, "%s", what)
		return false
	}
	if version < oldestCUDA {
		s.problem("install driver 525 or later", "the driver is too old: it knows CUDA %s, %s is needed", Release(version), Release(oldestCUDA))
		return false
	}
	if devices == 0 {
		s.problem("check with nvidia-smi that the driver sees the GPU, and that CUDA_VISIBLE_DEVICES does not hide it", "there is a driver (CUDA %s) but no GPU", Release(version))
		return false
	}
	fit := 0
	for i := range devices {
		dev, err := d.describe(i)
		switch {
		case err != nil:
			dev = Device{Name: "a GPU", Trouble: Problem{What: err.Error(), Advice: "check it with nvidia-smi"}}
		case dev.Major < oldestMajor:
			dev.Trouble = Problem{
				What:   fmt.Sprintf("%s has compute capability %d.%d, %d.0 is needed", dev.Name, dev.Major, dev.Minor, oldestMajor),
				Advice: "use a GPU of the Volta generation (2017) or later",
			}
		default:
			fit++
		}
		s.Report.Devices = append(s.Report.Devices, dev)
	}
	if fit > 0 {
		return true // the trouble of the others is their own
	}
	for i, dev := range s.Report.Devices {
		s.problem(dev.Trouble.Advice, "cuda:%d: %s", i, dev.Trouble.What)
	}
	return false
}

// loadLibraries takes the newest CUDA release that driver, cuBLAS and cuDNN have
// in common.
func (s *Set) loadLibraries(places Places) {
	var blasErrs, dnnErrs []string
	blasFound := false
	for release := newestRelease; release >= oldestRelease; release-- {
		if s.Report.CUDA < release*1000 {
			continue
		}
		blas, helper, err := openBlas(places, release)
		if err != nil {
			blasErrs = append(blasErrs, err.Error())
			continue
		}
		blasFound = true
		dnn, err := openDnn(places, release)
		if err != nil {
			dnnErrs = append(dnnErrs, err.Error())
			blas.close()
			closeAll(helper)
			continue
		}
		s.Blas, s.Dnn, s.helper = blas, dnn, helper
		s.Report.Libraries = []Found{blas.Found, dnn.Found}
		return
	}
	newest := min(s.Report.CUDA/1000, newestRelease)
	if !blasFound {
		s.problem(fmt.Sprintf("pip install %s, or install libcublas-%d-0 from NVIDIA's packages; if it is there, %s",
			pip("cublas", newest), newest, places.name()), "cuBLAS is missing: %s", strings.Join(blasErrs, "; "))
		return
	}
	s.problem(fmt.Sprintf("pip install %s, or install libcudnn9-cuda-%d from NVIDIA's packages; if it is there, %s",
		pip("cudnn", newest), newest, places.name()), "cuDNN is missing: %s", strings.Join(dnnErrs, "; "))
}

// LoadNccl loads NCCL, which only several processes need.
func (s *Set) LoadNccl() (err error) {
	if s.Nccl != nil {
		return nil
	}
	if s.Nccl, err = loadNccl(s.places); err != nil {
		return Problem{
			What:   "NCCL is missing: " + err.Error(),
			Advice: fmt.Sprintf("pip install %s, or install libnccl2 from NVIDIA's packages; if it is there, %s", pip("nccl", min(s.Report.CUDA/1000, newestRelease)), s.places.name()),
		}
	}
	s.Report.Libraries = append(s.Report.Libraries, s.Nccl.Found)
	return nil
}

// pip is the name of a Python package with one of the libraries.
func pip(library string, release int) string {
	if library == "cublas" && release >= 13 {
		return "nvidia-cublas"
	}
	return fmt.Sprintf("nvidia-%s-cu%d", library, release)
}

// openBlas loads cuBLAS with what it needs.
func openBlas(places Places, release int) (*Cublas, []*library, error) {
	file := fmt.Sprintf("libcublas.so.%d", release)
	var failures []string
	for _, path := range places.Candidates(file) {
		helper := openBeside(places, path, fmt.Sprintf("libcublasLt.so.%d", release))
		b, err := loadCublas(path, places.Keep)
		if err == nil && b.major != release {
			err = fmt.Errorf("%s is of release %d", b.Found.Path, b.major)
			b.close()
		}
		if err == nil {
			if len(helper) > 0 {
				if lt, err := loadCublasLt(helper[0]); err == nil {
					b.lt = lt
				}
			}
			// cuDNN compiles some of its kernels with NVRTC.
			return b, append(helper, openBeside(places, path, fmt.Sprintf("libnvrtc.so.%d", release))...), nil
		}
		closeAll(helper)
		failures = append(failures, failure(path, err))
	}
	return nil, nil, errors.New(reasons(file, failures))
}

// openBeside loads a library that another one will ask for by its bare name: the
// one of the same folder if there is one, otherwise the first that loads.
func openBeside(places Places, path, file string) []*library {
	list := places.Candidates(file)
	if strings.Contains(path, "/") {
		list = append([]string{filepath.Join(filepath.Dir(path), file)}, list...)
	}
	for _, p := range list {
		if strings.Contains(p, "/") && !isFile(p) {
			continue
		}
		if lib, err := openLibrary(p, places.Keep); err == nil {
			return []*library{lib}
		}
	}
	return nil // it may do without; if not, it says so itself
}

func openDnn(places Places, release int) (*Cudnn, error) {
	var failures []string
	for _, file := range []string{"libcudnn.so.9", "libcudnn.so.8"} {
		for _, path := range places.Candidates(file) {
			d, err := loadCudnn(path, places.Keep)
			if err == nil && d.cuda/1000 != release {
				err = fmt.Errorf("%s is for CUDA %s", d.Found.Path, Release(d.cuda))
				d.close()
			}
			if err == nil {
				return d, nil
			}
			failures = append(failures, failure(path, err))
		}
	}
	return nil, errors.New(reasons(fmt.Sprintf("libcudnn.so.9 for CUDA %d", release), failures))
}

// failure is the reason why a file could not be loaded; "" for one that is
// simply not there.
func failure(path string, err error) string {
	if !strings.Contains(path, "/") && strings.HasPrefix(err.Error(), path+": cannot open shared object file") {
		return ""
	}
	return err.Error()
}

func reasons(file string, failures []string) string {
	var list []string
	for _, f := range failures {
		if f != "" {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return file + " is not found"
	}
	return file + ": " + strings.Join(list, "; ")
}

func closeAll(list []*library) {
	for _, l := range list {
		l.close()
	}
}

// Detach releases the handles of cuBLAS and cuDNN, in the context that they were made
// in: without it they could not be.
func (s *Set) Detach() error {
	var errs []error
	if s.Nccl != nil {
		errs = append(errs, s.Nccl.leave())
	}
	if s.Dnn != nil {
		errs = append(errs, s.Dnn.Detach())
	}
	if s.Blas != nil {
		errs = append(errs, s.Blas.Detach())
	}
	return errors.Join(errs...)
}

// Close lets go of what was loaded, which is unloaded unless it is kept.
func (s *Set) Close() error {
	var errs []error
	if s.Dnn != nil {
		errs = append(errs, s.Dnn.close())
	}
	if s.Blas != nil {
		errs = append(errs, s.Blas.close())
	}
	closeAll(s.helper)
	if s.Nccl != nil {
		s.Nccl.lib.close()
	}
	if s.Driver != nil {
		s.Driver.close()
	}
	s.Dnn, s.Blas, s.Nccl, s.Driver, s.helper = nil, nil, nil, nil, nil
	return errors.Join(errs...)
}

// Explained is the report of a machine: it loads everything and lets it go.
func Explained() (Report, error) {
	s := Load()
	if len(s.Report.Problems) == 0 {
		var p Problem
		if errors.As(s.LoadNccl(), &p) {
			s.Report.Further = append(s.Report.Further, p)
		}
	}
	return s.Report, s.Close()
}
