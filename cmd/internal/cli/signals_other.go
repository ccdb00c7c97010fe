//go:build !unix

package cli

import (
	"os"
	"syscall"
)

// stopping are the signals after which a command saves what it has and ends.
var stopping = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
