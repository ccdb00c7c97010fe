package download

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/internal/disk"
)

// shop is a server of one file that misbehaves on request. It notes the Range
// of every request.
type shop struct {
	mu      sync.Mutex
	content []byte
	ranges  []string
	// serve handles a request in place of the usual, by its number from 0; it
	// returns false to leave it.
	serve func(n int, w http.ResponseWriter, r *http.Request) bool
}

// asked returns the ranges of all requests so far.
func (s *shop) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ranges)
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n := len(s.ranges)
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	s.mu.Unlock()
	if s.serve == nil || !s.serve(n, w, r) {
		http.ServeContent(w, r, "set.bin", time.Time{}, bytes.NewReader(s.content))
	}
}

// opened serves content, and returns the file with its address and a new folder.
func opened(t *testing.T, content []byte) (*shop, File, string) {
	t.Helper()
	s := &shop{content: content}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	sum := sha256.Sum256(content)
	return s, File{"set.bin", server.URL + "/set.bin", SHA256(hex.EncodeToString(sum[:]))}, t.TempDir()
}

func bigContent() []byte {
	b := make([]byte, 3<<20)
	r := rand.New(rand.NewPCG(4, 4))
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	return b
}

// breakOff sends n bytes from where it was asked for and drops the connection.
func breakOff(w http.ResponseWriter, r *http.Request, content []byte, n int) {
	panicked := &limited{ResponseWriter: w, left: n}
	http.ServeContent(panicked, r, "set.bin", time.Time{}, bytes.NewReader(content))
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

type limited struct {
	http.ResponseWriter
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	n := min(len(b), l.left)
	l.left -= n
	if _, err := l.ResponseWriter.Write(b[:n]); err != nil {
		return 0, err
	}
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func quickly() Options { return Options{Pause: time.Millisecond, Tries: 3} }

func stored(t *testing.T, dir string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "set.bin"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes are stored, want %d, equal: %v, %v", len(got), len(want), bytes.Equal(got, want), err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("the folder holds %v", left)
	}
}

func TestGetStoresAVerifiedFileOnce(t *testing.T) {
	content := bigContent()
	s, d, dir := opened(t, content)
	var last int64
	o := quickly()
	o.Progress = func(file string, done, total int64) {
		if file != "set.bin" || total != int64(len(content)) || done < last {
			t.Errorf("%s: %d of %d after %d", file, done, total, last)
		}
		last = done
	}
	for range 2 {
		if err := Get(t.Context(), d, dir, o); err != nil {
			t.Fatal(err)
		}
		stored(t, dir, content)
	}
	if len(s.asked()) != 1 || last != int64(len(content)) {
		t.Errorf("%d requests, %d bytes in the end", len(s.asked()), last)
	}
}

func TestGetGoesOnAfterAnInterruption(t *testing.T) {
	content := bigContent()
	s, d, dir := opened(t, content)
	s.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
		switch n {
		case 0, 1:
			breakOff(w, r, content, 1_000_000)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	}
	if err := Get(t.Context(), d, dir, quickly()); err != nil {
		t.Fatal(err)
	}
	stored(t, dir, content)
	if want := []string{"", "bytes=1000000-", "bytes=2000000-", "bytes=2000000-"}; !slices.Equal(s.asked(), want) {
		t.Errorf("ranges %q, want %q", s.asked(), want)
	}
}

// A later call continues with what an earlier one left.
func TestGetGoesOnInAnotherProcess(t *testing.T) {
	content := bigContent()
	s, d, dir := opened(t, content)
	s.serve = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		http.ServeContent(&limited{ResponseWriter: w, left: 1_000_000}, r, "set.bin", time.Time{}, bytes.NewReader(content))
		w.(http.Flusher).Flush()
		<-r.Context().Done() // and nothing more
		return true
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := quickly()
	o.Progress = func(_ string, done, _ int64) {
		if done > 500_000 {
			cancel()
		}
	}
	if err := Get(ctx, d, dir, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("canceled: %v", err)
	}
	part, err := os.Stat(filepath.Join(dir, "set.bin.part"))
	if err != nil || part.Size() <= 500_000 {
		t.Fatalf("kept: %v, %v", part, err)
	}
	s.serve = nil
	before := len(s.asked())
	if err := Get(t.Context(), d, dir, quickly()); err != nil {
		t.Fatal(err)
	}
	stored(t, dir, content)
	if len(s.asked()) != before+1 || !strings.HasPrefix(s.asked()[before], "bytes=") {
		t.Errorf("ranges %q", s.asked())
	}
}

func TestGetStartsOverWhereRangesAreNotSupported(t *testing.T) {
	content := bigContent()
	s, d, dir := opened(t, content)
	s.serve = func(n int, w http.ResponseWriter, r *http.Request) bool {
		r.Header.Del("Range")
		if n == 0 {
			breakOff(w, r, content, 1_500_000)
		}
		return false
	}
	if err := Get(t.Context(), d, dir, quickly()); err != nil {
		t.Fatal(err)
	}
	stored(t, dir, content)
}

func TestGetRefusesAWrongChecksum(t *testing.T) {
	content := bigContent()
	s, d, dir := opened(t, content)
	s.content = append(bytes.Clone(content[1:]), 0)
	err := Get(t.Context(), d, dir, quickly())
	if !errors.Is(err, ErrWrongChecksum) || !strings.Contains(err.Error(), string(d.Sum[7:])) || !strings.Contains(err.Error(), d.URL) {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}

// What was kept may be of an older version: then all is fetched once more.
func TestGetReplacesABeginningThatDoesNotFit(t *testing.T) {
	content := bigContent()
	for name, kept := range map[string][]byte{
		"other bytes": bytes.Repeat([]byte("x"), 1000),
		"too much":    bytes.Repeat([]byte("x"), len(content)+5),
		"as many":     bytes.Repeat([]byte("x"), len(content)),
		"all of it":   content,
	} {
		_, d, dir := opened(t, content)
		if err := os.WriteFile(filepath.Join(dir, "set.bin.part"), kept, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Get(t.Context(), d, dir, quickly()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		stored(t, dir, content)
	}
}

func TestGetNeverOverwrites(t *testing.T) {
	_, d, dir := opened(t, bigContent())
	mine := filepath.Join(dir, "set.bin")
	if err := os.WriteFile(mine, []byte("a thesis"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Get(t.Context(), d, dir, quickly()); !errors.Is(err, ErrInTheWay) || !strings.Contains(err.Error(), mine) {
		t.Errorf("%v", err)
	}
	if got, _ := os.ReadFile(mine); string(got) != "a thesis" {
		t.Errorf("it holds %q now", got)
	}
	// A name that is taken while the file is fetched.
	s, d, dir := opened(t, bigContent())
	s.serve = func(int, http.ResponseWriter, *http.Request) bool {
		if err := os.WriteFile(filepath.Join(dir, "set.bin"), []byte("new"), 0o644); err != nil {
			t.Error(err)
		}
		return false
	}
	if err := Get(t.Context(), d, dir, quickly()); !errors.Is(err, ErrInTheWay) {
		t.Errorf("%v", err)
	}
}

// /dev/full is a disk without room.
func TestGetSaysThatTheDiskIsFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	_, d, dir := opened(t, bigContent())
	if err := os.Symlink("/dev/full", filepath.Join(dir, "set.bin.part")); err != nil {
		t.Fatal(err)
	}
	if err := Get(t.Context(), d, dir, quickly()); !errors.Is(err, disk.ErrNoRoom) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("%v", err)
	}
	s, d, dir := opened(t, nil)
	s.serve = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", "4000000000000000")
		return true
	}
	if err := Get(t.Context(), d, dir, quickly()); !errors.Is(err, disk.ErrNoRoom) || !strings.Contains(err.Error(), "still to come") {
		t.Errorf("more than fits: %v", err)
	}
}

func TestGetGivesUpInTime(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(n int, w http.ResponseWriter, r *http.Request) bool
		says  string
		tries int
	}{
		"not there": {func(_ int, w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true }, "404", 1},
		"broken":    {func(_ int, w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return true }, "after 3 tries", 3},
		"other part": {func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Range", "bytes 7-9/10")
			w.WriteHeader(http.StatusPartialContent)
			return true
		}, "byte 0 was asked for", 1},
		"silent": {func(_ int, w http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }, "nothing came", 0},
	} {
		s, d, dir := opened(t, bigContent())
		s.serve = c.serve
		o := quickly()
		if c.tries == 0 {
			o.Silence = 30 * time.Millisecond
		}
		err := Get(t.Context(), d, dir, o)
		// On a busy machine silence may begin before a request arrives.
		if err == nil || !strings.Contains(err.Error(), c.says) || c.tries > 0 && len(s.asked()) != c.tries {
			t.Errorf("%s: %d requests, %v", name, len(s.asked()), err)
		}
	}
	_, d, dir := opened(t, nil)
	d.URL = "http://127.0.0.1:1/nobody"
	if err := Get(t.Context(), d, dir, quickly()); err == nil || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "is kept") {
		t.Errorf("nobody listens: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("nothing came, and %v are left", left)
	}
}

func TestTwoProcessesDoNotFetchOneFile(t *testing.T) {
	s, d, dir := opened(t, bigContent())
	s.serve = func(n int, _ http.ResponseWriter, _ *http.Request) bool {
		if n == 0 {
			if err := Get(t.Context(), d, dir, quickly()); err == nil || !strings.Contains(err.Error(), "another process") {
				t.Errorf("the second: %v", err)
			}
		}
		return false
	}
	if err := Get(t.Context(), d, dir, quickly()); err != nil {
		t.Fatal(err)
	}
	stored(t, dir, s.content)
}
