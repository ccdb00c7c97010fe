package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain lets this binary be the small process that starts a peer.
func TestMain(m *testing.M) {
	if code, is := AsPeer(); is {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// A shell that holds 64 MiB needs 64 MiB and a few more, whatever this process
// holds, and one that holds nothing next to nothing.
func TestThePeakOfAPeerIsItsOwn(t *testing.T) {
	const mib = 1 << 20
	ballast := make([]byte, 400*mib)
	for i := range ballast {
		ballast[i] = 1
	}
	if own := peakMemory(); own < 400*mib {
		t.Fatalf("this process has %.0f MiB at most, want 400", own/mib)
	}
	for _, c := range []struct {
		command     string
		least, most float64 // MiB
	}{
		{`echo '{"img_s": 1}'`, .5, 90},
		{`x=$(head -c 67108864 /dev/zero | tr '\0' x); echo '{"img_s": 1}'`, 64, 300},
		{`sh -c 'x=$(head -c 67108864 /dev/zero | tr "\0" x); echo "{\"img_s\": 1}"'; true`, 64, 300},
	} {
		r, err := Peer{Command: c.command}.run(context.Background(), "small-train")
		if err != nil {
			t.Fatalf("%s: %v", c.command, err)
		}
		if peak := r.peak / mib; !(peak >= c.least && peak <= c.most) {
			t.Errorf("%s: a peak of %.1f MiB, want %v to %v", c.command, peak, c.least, c.most)
		}
	}
	runtime.KeepAlive(ballast)
}

// What a peer has started ends with a comparison that is broken off.
func TestABrokenOffPeerLeavesNoProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := Peer{Command: "sleep 60 & echo $! > " + file + ".new; mv " + file + ".new " + file + "; wait"}.run(ctx, "small-train")
		ended <- err
	}()
	pid := 0
	for pid == 0 {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
		if text, err := os.ReadFile(file); err == nil {
			fmt.Sscan(string(text), &pid)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// A process that was killed may wait for its new parent to take note of it.
	for range 1000 {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}
