//go:build unix

package cli

import (
	"os"
	"syscall"
)

// stopping are the signals after which a command saves what it has and ends. Launchers of
// several processes pass SIGUSR1 on to all of them.
var stopping = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1}
