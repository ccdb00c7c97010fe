//go:build !linux || !cgo || !(mpi || gpu)

package comm

import (
	"fmt"
	"os"
)

// Built says whether the program can join processes over MPI.
const Built = false

// Found lists the libraries of MPI that can be loaded; in this build none.
func Found() []string { return nil }

// Open joins the processes that a launcher has started this one with. In this build that is
// an error; a process that runs alone is Single.
func Open(Options) (Comm, error) {
	if name := launched(os.Getenv); name != "" {
		return nil, fmt.Errorf("a launcher started this as one of several processes (%s is set), and this program is built without MPI: make build-mpi builds one with it; or start it without the launcher", name)
	}
	return Single{}, nil
}
