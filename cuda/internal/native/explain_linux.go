//go:build cgo

package native

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// loadError says why the loader does not load a file.
type loadError struct{ file, text string }

func (e *loadError) Error() string { return e.text }

// absent reports whether the file itself is not there, rather than one that it needs.
func (e *loadError) absent() bool {
	return strings.HasPrefix(e.text, e.file+": cannot open shared object file: No such file")
}

// needs is the file that is not there though the loaded one needs it, or "".
func (e *loadError) needs() string {
	file, _, missing := strings.Cut(e.text, ": cannot open shared object file: No such file")
	if !missing || file == e.file {
		return ""
	}
	return file
}

// unloadable turns a failure to load the driver's library into what a user can do
// about it.
func unloadable(err error) Problem {
	const container = "in a container, start it with GPU access (docker run --gpus all)"
	var e *loadError
	switch {
	case !errors.As(err, &e): // a function is missing
		return Problem{What: fmt.Sprintf("the NVIDIA driver cannot be used: %v", err), Advice: "install a newer driver, 525 or later"}
	case e.absent():
		return Problem{What: "no NVIDIA driver: libcuda.so.1 is not found", Advice: "install NVIDIA's driver; " + container, NoDriver: true}
	case e.needs() != "":
		return Problem{
			What:   fmt.Sprintf("the NVIDIA driver cannot be used: there is a %s, but not the %s that it needs", e.file, filepath.Base(e.needs())),
			Advice: "install all of the driver's packages, of one version; " + container,
		}
	case strings.Contains(e.text, "file too short") || strings.Contains(e.text, "invalid ELF header") || strings.Contains(e.text, "wrong ELF class"):
		return Problem{
			What:   fmt.Sprintf("the NVIDIA driver cannot be used: a file in its place is no library for this machine: %v", err),
			Advice: "remove that file, or take its folder out of LD_LIBRARY_PATH, and install the driver again; " + container,
		}
	}
	return Problem{What: fmt.Sprintf("the NVIDIA driver cannot be used: %v", err), Advice: "install the driver from this system's packages again; " + container}
}

// explain turns a failure of cuInit into what a user can do about it.
func explain(err error) (what, advice string) {
	what = "the NVIDIA driver does not start: " + err.Error()
	var e *DriverError
	if !errors.As(err, &e) {
		return what, ""
	}
	switch e.Code {
	case 100: // CUDA_ERROR_NO_DEVICE
		return "there is a driver but no GPU", "check with nvidia-smi that the driver sees the GPU, and that CUDA_VISIBLE_DEVICES does not hide it"
	case 803: // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
		return what, "the driver's library and its kernel module are of different versions: reboot, or reload the module"
	case 804: // CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
		return what, "the forward compatibility package does not serve this GPU: remove it, or install a newer driver"
	case 34: // CUDA_ERROR_STUB_LIBRARY
		return what, "libcuda.so.1 is the stub of an SDK: take its folder out of LD_LIBRARY_PATH"
	case 802: // CUDA_ERROR_SYSTEM_NOT_READY
		return what, "the GPUs are still being connected: see that nvidia-fabricmanager is running"
	case 999: // CUDA_ERROR_UNKNOWN
		return what, "the kernel module may have lost the device: run nvidia-smi, see dmesg, reload nvidia_uvm"
	}
	return what, "run nvidia-smi to see whether the driver works"
}
