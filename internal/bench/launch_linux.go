package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// start prepares the peer's start. Linux hands the most memory that a process had
// down to what is started in its place (setmax_mm_hiwater_rss in exec_mmap of
// fs/exec.c), so a peer that this process started itself would seem to need at
// least as much. A small process between them, see AsPeer, holds next to nothing.
// done closes files and returns the peer's peak in bytes, when it has ended.
func (p Peer) start(ctx context.Context) (cmd *exec.Cmd, done func() float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd = exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), peerVariable+"="+p.Command)
	cmd.ExtraFiles = []*os.File{write}
	// A group of its own, so that what it starts ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd, func() (peak float64) {
		write.Close()
		defer read.Close()
		if text, err := io.ReadAll(read); err == nil {
			fmt.Sscan(string(text), &peak) // 0 if it was killed
		}
		return peak
	}, nil
}

// peakFile is the file to which AsPeer writes, the first of ExtraFiles.
const peakFile = 3

// AsPeer says whether this process is no more than the one between a comparison and
// its peer, which programs that call Compare ask first of all. If so it has run the
// peer, and the process is to end with the code.
func AsPeer() (code int, is bool) {
	command := os.Getenv(peerVariable)
	if command == "" {
		return 0, false
	}
	return runPeer(command), true
}

// runPeer runs a command, tells the process that started this one the most bytes
// that the command or a process of its own had resident, and returns its exit code.
func runPeer(command string) int {
	syscall.CloseOnExec(peakFile)
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = peerEnvironment(os.Environ())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return 127 // as shells say that there is no such program
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		fmt.Fprintln(os.NewFile(peakFile, "peak"), usage.Maxrss*1024)
	}
	if ended := new(exec.ExitError); errors.As(err, &ended) {
		if s, ok := ended.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return 128 + int(s.Signal())
		}
		return ended.ExitCode()
	}
	return 0
}
