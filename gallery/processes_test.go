package gallery

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What a process of its own does, by the environment: append rows until it is
// killed, or append a number of times when its standard input ends.
const (
	appendForever = "VERNIER_TEST_APPEND"
	appendTimes   = "VERNIER_TEST_APPEND_TIMES" // PATH|NAME|TIMES
)

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
	if job := os.Getenv(appendTimes); job != "" {
		if err := appendNamed(strings.Split(job, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// appendNamed appends two rows a time, called NAME/0, NAME/1 and so on, and one that
// every process has.
func appendNamed(job []string) error {
	times, err := strconv.Atoi(job[2])
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	for i := range times {
		t := newTable(3, 4, 3)
		t.Paths = []string{fmt.Sprintf("%s/%d", job[1], 2*i), fmt.Sprintf("%s/%d", job[1], 2*i+1), "shared"}
		if _, err := Append(job[0], testInfo, t); err != nil {
			return err
		}
	}
	return nil
}

// inProcesses starts processes that append to one index, all at once, and waits.
func inProcesses(t *testing.T, path string, processes, times int) {
	t.Helper()
	var starts []io.Closer
	var all []*exec.Cmd
	for p := range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%d", appendTimes, path, p, times))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		fatal(t, err)
		fatal(t, cmd.Start())
		starts, all = append(starts, in), append(all, cmd)
	}
	for _, in := range starts {
		in.Close()
	}
	for p, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", p, err)
		}
	}
}

func TestProcessesThatMakeOneIndexLoseNoRow(t *testing.T) {
	const processes, times = 6, 3
	for trial := range 5 {
		dir := t.TempDir()
		path := filepath.Join(dir, "g")
		inProcesses(t, path, processes, times)
		x := opened(t, path)
		count := map[string]int{}
		for i := range x.Rows() {
			count[x.Path(i)]++
		}
		for p := range processes {
			for i := range 2 * times {
				if name := fmt.Sprintf("%d/%d", p, i); count[name] != 1 {
					t.Errorf("trial %d: row %s is there %d times", trial, name, count[name])
				}
			}
		}
		if want := processes*2*times + 1; count["shared"] != 1 || x.Rows() != want {
			t.Errorf("trial %d: %d rows, %d of them the one that all have; want %d and 1", trial, x.Rows(), count["shared"], want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("trial %d: the folder holds %v (%v)", trial, left, err)
		}
	}
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
		if x.Rows() < rows || x.Rows()%50 != 0 {
			t.Errorf("round %d: %d rows after %d", round, x.Rows(), rows)
		}
		rows = x.Rows()
	}
	if rows == 50 {
		t.Error("the killed processes appended nothing")
	}
}

// TestNamesWithoutHardLinks is making an index where the file system has none.
func TestNamesWithoutHardLinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g")
	all := newTable(4, 4, 3)
	fatal(t, create(path, testInfo, adding(t, part(all, 0, 2)).add, publishLocked))
	if err := create(path, testInfo, adding(t, part(all, 2, 4)).add, publishLocked); err == nil || !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
	wantRows(t, opened(t, path), all, 2)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Skip(err)
	}
	if _, err := Append(link, testInfo, all); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}
