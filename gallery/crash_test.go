package gallery

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// memory is a file of which only a number of bytes is written before the power
// fails.
type memory struct {
	data []byte
	left int
}

var errPower = errors.New("the power failed")

func (m *memory) WriteAt(b []byte, at int64) (int, error) {
	n := min(len(b), m.left)
	if grow := int(at) + n - len(m.data); grow > 0 {
		m.data = append(m.data, make([]byte, grow)...)
	}
	copy(m.data[at:], b[:n])
	if m.left -= n; n < len(b) {
		return n, errPower
	}
	return n, nil
}

func (m *memory) Truncate(size int64) error { m.data = m.data[:size]; return nil }
func (m *memory) Sync() error               { return nil }

// TestAnAppendThatIsCutAnywhereLeavesTheIndexWhole stops the writing after
// every number of bytes. The index has its old rows, or all; and the next append
// goes well.
func TestAnAppendThatIsCutAnywhereLeavesTheIndexWhole(t *testing.T) {
	all := newTable(9, 4, 3)
	path := filepath.Join(t.TempDir(), "g")
	for _, to := range []int{3, 5} { // so that both commits are in use
		_, err := Append(path, testInfo, part(all, map[int]int{3: 0, 5: 3}[to], to))
		fatal(t, err)
	}
	before, err := os.ReadFile(path)
	fatal(t, err)
	_, c, err := readHeader(bytes.NewReader(before), int64(len(before)))
	fatal(t, err)
	segment, err := encodeSegment(part(all, 5, 7))
	fatal(t, err)
	for n := 0; n <= len(segment)+commitSize; n++ {
		if n > 8 && n < len(segment)-8 && n%16 != 0 {
			continue // amid the segment; every append waits for the disk
		}
		m := &memory{bytes.Clone(before), n}
		if _, err := appendSegment(m, c, part(all, 5, 7)); (err == nil) != (n == len(segment)+commitSize) {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		fatal(t, os.WriteFile(path, m.data, 0o644))
		x, err := Open(path)
		if err != nil {
			t.Fatalf("cut after %d of %d bytes: %v", n, len(segment)+commitSize, err)
		}
		// The last four bytes of a commit are zeros, which were there before.
		if have := x.Rows(); have != 5 && n < len(segment)+32 {
			t.Fatalf("cut after %d bytes: %d rows", n, have)
		}
		rows := x.Rows()
		wantRows(t, x, all, rows)
		fatal(t, x.Close())
		_, err = Append(path, testInfo, part(all, rows, 9))
		fatal(t, err)
		x, err = Open(path)
		fatal(t, err)
		wantRows(t, x, all, 9)
		fatal(t, x.Close())
	}
}

// appendForever is what the killed process does: append rows until it dies.
const appendForever = "VERNIER_TEST_APPEND"

func TestMain(m *testing.M) {
	if path := os.Getenv(appendForever); path != "" {
		for i := 0; ; i++ {
			t := newTable(50, 4, 3)
			for j := range t.Paths {
				t.Paths[j] = strconv.Itoa(50*i + j)
			}
			if _, err := Append(path, testInfo, t); err != nil {
				os.Exit(1)
			}
		}
	}
	os.Exit(m.Run())
}

func TestAKilledProcessLeavesTheIndexWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g")
	_, err := Append(path, testInfo, newTable(50, 4, 3))
	fatal(t, err)
	rows := 50
	for round := range 10 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), appendForever+"="+path)
		before, err := os.Stat(path)
		fatal(t, err)
		fatal(t, cmd.Start())
		for wait := time.Now(); time.Since(wait) < 30*time.Second; time.Sleep(time.Millisecond) {
			if now, err := os.Stat(path); err == nil && now.Size() > before.Size() {
				break // it is at work
			}
		}
		time.Sleep(time.Duration(7*round) * time.Millisecond)
		fatal(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		x, err := Open(path)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		fatal(t, x.Check())
		if x.Rows() < rows || x.Rows()%50 != 0 {
			t.Errorf("round %d: %d rows after %d", round, x.Rows(), rows)
		}
		rows = x.Rows()
		fatal(t, x.Close())
	}
	if rows == 50 {
		t.Error("the killed processes appended nothing")
	}
}
