//go:build !linux

package bench

import (
	"context"
	"os"
	"os/exec"
)

// start prepares the peer's start. Its peak of memory is not known here.
func (p Peer) start(ctx context.Context) (cmd *exec.Cmd, done func() float64, err error) {
	cmd = exec.CommandContext(ctx, "sh", "-c", p.Command)
	cmd.Env = peerEnvironment(os.Environ())
	return cmd, func() float64 { return 0 }, nil
}

// AsPeer says that this process stands between no comparison and its peer, which
// only Linux needs.
func AsPeer() (code int, is bool) { return 0, false }
