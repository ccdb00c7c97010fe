//go:build cgo && (mpi || gpu)

package mpi

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "vernier_mpi.h"
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// Library is a library of MPI after MPI_Init_thread. Its methods, but Abort, are called by
// one goroutine at a time (MPI_THREAD_SERIALIZED).
type Library struct {
	m          *C.vernier_mpi // in C memory: it holds the handlers of signals
	path       string
	Rank, Size int
}

// Open loads the first of paths that can be, and joins what the launcher has started.
func Open(paths []string) (*Library, error) {
	runtime.LockOSThread() // dlerror is of a thread
	defer runtime.UnlockOSThread()
	l := &Library{m: (*C.vernier_mpi)(C.calloc(1, C.sizeof_vernier_mpi))}
	C.vernier_mpi_signals_keep(l.m)
	var tried []string
	for _, path := range paths {
		name := C.CString(path)
		wrong := C.vernier_mpi_open(l.m, name)
		C.free(unsafe.Pointer(name))
		if wrong == nil {
			l.path = path
			break
		}
		tried = append(tried, C.GoString(wrong))
	}
	if l.path == "" {
		return nil, fmt.Errorf("no library of MPI can be loaded: %s", strings.Join(tried, "; "))
	}
	var provided, rank, size C.int
	code := C.vernier_mpi_init(l.m, &provided, &rank, &size)
	C.vernier_mpi_signals_back(l.m)
	if err := l.check("MPI_Init_thread", code); err != nil {
		return nil, err
	}
	if provided < C.MPI_SERIALIZED {
		return nil, fmt.Errorf("%s supports threads at level %d, and %d (MPI_THREAD_SERIALIZED) is needed", l.path, provided, C.MPI_SERIALIZED)
	}
	l.Rank, l.Size = int(rank), int(size)
	return l, nil
}

// Name is the library's own, such as "Open MPI v4.1.4", and its file.
func (l *Library) Name() string {
	var text [256]C.char
	C.vernier_mpi_version(l.m, &text[0], 256)
	return nameOf(C.GoString(&text[0]), l.path)
}

// nameOf is the first words of a library's version, and its file.
func nameOf(version, path string) string {
	line, _, _ := strings.Cut(version, "\n")
	line, _, _ = strings.Cut(line, ",")
	return fmt.Sprintf("%s, %s", strings.Join(strings.Fields(line), " "), path)
}

// Found names the libraries among paths that can be loaded. None is initialized.
func Found(paths []string) (list []string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, path := range paths {
		var text [256]C.char
		name := C.CString(path)
		if C.vernier_mpi_probe(name, &text[0], 256) == 0 {
			list = append(list, nameOf(C.GoString(&text[0]), path))
		}
		C.free(unsafe.Pointer(name))
	}
	return list
}

func (l *Library) check(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	var text [1024]C.char
	C.vernier_mpi_error(l.m, code, &text[0], 1024)
	return fmt.Errorf("%s: %s", call, C.GoString(&text[0]))
}

// start is the address of the first element, nil for none.
func start[T any](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// Barrier is MPI_Barrier.
func (l *Library) Barrier() error { return l.check("MPI_Barrier", C.vernier_mpi_barrier(l.m)) }

// Broadcast is MPI_Bcast of bytes.
func (l *Library) Broadcast(x []byte, root int) error {
	return l.check("MPI_Bcast", C.vernier_mpi_broadcast(l.m, start(x), C.int(len(x)), C.int(root)))
}

// Gather is MPI_Allgatherv of bytes, of which each rank gives the counts.
func (l *Library) Gather(dst, x []byte, counts []int) error {
	sizes, places := make([]C.int, len(counts)), make([]C.int, len(counts))
	at := 0
	for i, n := range counts {
		sizes[i], places[i] = C.int(n), C.int(at)
		at += n
	}
	return l.check("MPI_Allgatherv", C.vernier_mpi_gather(l.m, start(x), C.int(len(x)), start(dst), &sizes[0], &places[0]))
}

// Send is MPI_Send.
func (l *Library) Send(x []float32, to int) error {
	return l.check("MPI_Send", C.vernier_mpi_send(l.m, start(x), C.int(len(x)), C.int(to)))
}

// Receive is MPI_Recv.
func (l *Library) Receive(x []float32, from int) error {
	return l.check("MPI_Recv", C.vernier_mpi_receive(l.m, start(x), C.int(len(x)), C.int(from)))
}

// Note sends a few bytes to a rank, which need not wait for them.
func (l *Library) Note(x []byte, to int) error {
	return l.check("MPI_Send", C.vernier_mpi_note(l.m, start(x), C.int(len(x)), C.int(to)))
}

// Noted reports whether a note of a rank has come.
func (l *Library) Noted(from int) (bool, error) {
	var there C.int
	err := l.check("MPI_Iprobe", C.vernier_mpi_noted(l.m, C.int(from), &there))
	return there != 0, err
}

// TakeNote receives a note of a rank, of at most len(x) bytes.
func (l *Library) TakeNote(x []byte, from int) error {
	return l.check("MPI_Recv", C.vernier_mpi_take(l.m, start(x), C.int(len(x)), C.int(from)))
}

// Exchange is MPI_Sendrecv with one rank.
func (l *Library) Exchange(x, y []float32, with int) error {
	return l.check("MPI_Sendrecv", C.vernier_mpi_exchange(l.m, start(x), C.int(len(x)), start(y), C.int(len(y)), C.int(with)))
}

// Abort ends the processes of all ranks. Another goroutine may be in a call.
func (l *Library) Abort(code int) { C.vernier_mpi_abort(l.m, C.int(code)) }

// Finalize leaves; nothing may be called after it.
func (l *Library) Finalize() error { return l.check("MPI_Finalize", C.vernier_mpi_finalize(l.m)) }
