//go:build cgo

package native

// #include "vernier_nccl.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// ncclFile is the library of NCCL.
const ncclFile = "libnccl.so.2"

// oldestNCCL is the first release whose functions are all there.
const oldestNCCL = 21400

// Nccl is NVIDIA's library of sums over the devices of several processes.
type Nccl struct {
	lib   *library
	table *C.nccl_table
	comm  unsafe.Pointer // nil outside of a group
	Found Found
}

// loadNccl loads the first of the candidates that can be used.
func loadNccl(places Places) (*Nccl, error) {
	var failures []string
	for _, path := range places.Candidates(ncclFile) {
		n, err := openNccl(path, places.Keep)
		if err == nil {
			return n, nil
		}
		failures = append(failures, failure(path, err))
	}
	return nil, errors.New(reasons(ncclFile, failures))
}

func openNccl(path string, keep bool) (*Nccl, error) {
	lib, err := openLibrary(path, keep)
	if err != nil {
		return nil, err
	}
	n := &Nccl{lib: lib, table: new(C.nccl_table)}
	var count C.int
	names := C.vernier_nccl_names(&count)
	err = lib.fill(unsafe.Pointer(n.table), names, int(count))
	var version C.int
	if err == nil {
		err = n.check("ncclGetVersion", C.vernier_nccl_version(n.table, &version))
	}
	if v := int(version); err == nil && v < oldestNCCL {
		err = fmt.Errorf("%s is NCCL %s, 2.14 or later is needed", lib.path, ncclRelease(v))
	}
	if err != nil {
		lib.close()
		return nil, err
	}
	n.Found = Found{"NCCL", ncclRelease(int(version)), lib.path}
	return n, nil
}

// ncclRelease writes a version number, 22703 as 2.27.3. Before 2.9 it had a digit less.
func ncclRelease(v int) string {
	if v < 10000 {
		return fmt.Sprintf("%d.%d.%d", v/1000, v%1000/100, v%100)
	}
	return fmt.Sprintf("%d.%d.%d", v/10000, v%10000/100, v%100)
}

func (n *Nccl) check(call string, status C.int) error {
	if status == 0 {
		return nil
	}
	text := C.GoString(C.vernier_nccl_status(n.table, status))
	if last := C.GoString(C.vernier_nccl_last(n.table, n.comm)); last != "" {
		text += ": " + last
	}
	return fmt.Errorf("%s: %s (status %d)", call, text, int(status))
}

// Invitation makes what the ranks of one group need to find each other.
func (n *Nccl) Invitation() ([]byte, error) {
	var id C.nccl_id
	if err := n.check("ncclGetUniqueId", C.vernier_nccl_id(n.table, &id)); err != nil {
		return nil, err
	}
	return C.GoBytes(unsafe.Pointer(&id), C.int(unsafe.Sizeof(id))), nil
}

// Join enters a group in the current context. It returns when all ranks have come.
func (n *Nccl) Join(invitation []byte, rank, size int) error {
	var id C.nccl_id
	if len(invitation) != int(unsafe.Sizeof(id)) {
		return fmt.Errorf("an invitation of %d bytes, want %d", len(invitation), unsafe.Sizeof(id))
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&id)), len(invitation)), invitation)
	var comm unsafe.Pointer
	if err := n.check("ncclCommInitRank", C.vernier_nccl_join(n.table, &comm, C.int(size), &id, C.int(rank))); err != nil {
		return err
	}
	n.comm = comm
	return nil
}

// Sum replaces the numbers of every span by their sum over the ranks, in a stream.
func (n *Nccl) Sum(list []device.Span, s device.Stream) error {
	if n.comm == nil {
		return errors.New("a sum over ranks outside of a group")
	}
	if len(list) == 0 {
		return nil
	}
	at, counts := make([]C.size_t, len(list)), make([]C.size_t, len(list))
	for i, x := range list {
		at[i], counts[i] = C.size_t(x.At), C.size_t(x.Numbers)
	}
	return n.check("ncclAllReduce", C.vernier_nccl_sum(n.table, n.comm, &at[0], &counts[0], C.int(len(list)), C.size_t(s)))
}

// Gather sets the numbers at dst to those of the spans of all ranks, in a stream.
func (n *Nccl) Gather(dst device.Ptr, x device.Span, s device.Stream) error {
	if n.comm == nil {
		return errors.New("a gathering outside of a group")
	}
	return n.check("ncclAllGather", C.vernier_nccl_gather(n.table, n.comm, C.size_t(dst), C.size_t(x.At), C.size_t(x.Numbers), C.size_t(s)))
}

// Since is what has gone wrong on this rank or another since it was asked for.
func (n *Nccl) Since() error {
	if n.comm == nil {
		return nil
	}
	return n.check("NCCL", C.vernier_nccl_since(n.table, n.comm))
}

// Abort leaves the group at once: what is under way ends without a result.
func (n *Nccl) Abort() error {
	comm := n.comm
	n.comm = nil
	if comm == nil {
		return nil
	}
	return n.check("ncclCommAbort", C.vernier_nccl_abort(n.table, comm))
}

// leave ends the membership, in the context that it began in, when nothing is under way.
func (n *Nccl) leave() error {
	comm := n.comm
	n.comm = nil
	if comm == nil {
		return nil
	}
	return n.check("ncclCommDestroy", C.vernier_nccl_leave(n.table, comm))
}
