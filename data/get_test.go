package data

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// shop is a server of one file that can be told to misbehave. It notes the Range
// of every request.
type shop struct {
	mu      sync.Mutex
	content []byte
	ranges  []string
	// serve handles a request in place of the usual, by its number from 0; it
	// returns false to leave it.
	serve func(n int, w http.ResponseWriter, r *http.Request) bool
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

// opened serves content, and returns the set that consists of it and a new folder.
func opened(t *testing.T, content []byte) (*shop, Download, string) {
	t.Helper()
	s := &shop{content: content}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	sum := md5.Sum(content)
	return s, Download{Name: "set", Files: []RemoteFile{{"set.bin", server.URL + "/set.bin", hex.EncodeToString(sum[:])}}}, t.TempDir()
}

func bigContent() []byte {
	b := make([]byte, 3<<20)
	r := newRand(4)
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

func quickly() GetOptions { return GetOptions{Pause: time.Millisecond, Tries: 3} }

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
	if len(s.ranges) != 1 || last != int64(len(content)) {
		t.Errorf("%d requests, %d bytes in the end", len(s.ranges), last)
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
	if want := []string{"", "bytes=1000000-", "bytes=2000000-", "bytes=2000000-"}; !slices.Equal(s.ranges, want) {
		t.Errorf("ranges %q, want %q", s.ranges, want)
	}
}

// A later call goes on with what an earlier one left.
func TestGetGoesOnInAnotherProcess(t *testing.T) {
	content := bigContent()
	s, d, dir := opened(t, content)
	s.serve = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		breakOff(w, r, content[:2_000_000], 2_000_000)
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
		t.Fatalf("cancelled: %v", err)
	}
	part, err := os.Stat(filepath.Join(dir, "set.bin.part"))
	if err != nil || part.Size() <= 500_000 {
		t.Fatalf("kept: %v, %v", part, err)
	}
	s.serve = nil
	before := len(s.ranges)
	if err := Get(t.Context(), d, dir, quickly()); err != nil {
		t.Fatal(err)
	}
	stored(t, dir, content)
	if len(s.ranges) != before+1 || !strings.HasPrefix(s.ranges[before], "bytes=") {
		t.Errorf("ranges %q", s.ranges)
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
	if !errors.Is(err, ErrWrongChecksum) || !strings.Contains(err.Error(), d.Files[0].MD5) || !strings.Contains(err.Error(), d.Files[0].URL) {
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
	if err := Get(t.Context(), d, dir, quickly()); !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("%v", err)
	}
	s, d, dir := opened(t, nil)
	s.serve = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", "4000000000000000")
		return true
	}
	if err := Get(t.Context(), d, dir, quickly()); !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "still to come") {
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
		"silent": {func(_ int, w http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }, "nothing came", 3},
	} {
		s, d, dir := opened(t, bigContent())
		s.serve = c.serve
		o := quickly()
		o.silence = 30 * time.Millisecond
		err := Get(t.Context(), d, dir, o)
		if err == nil || !strings.Contains(err.Error(), c.says) || len(s.ranges) != c.tries {
			t.Errorf("%s: %d requests, %v", name, len(s.ranges), err)
		}
	}
	_, d, dir := opened(t, nil)
	d.Files[0].URL = "http://127.0.0.1:1/nobody"
	if err := Get(t.Context(), d, dir, quickly()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody listens: %v", err)
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

func TestGetUnpacksASetThatIsReadAsAFolder(t *testing.T) {
	pack := func(names ...string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for _, name := range names {
			h := &tar.Header{Name: name, Size: 1, Mode: 0o600}
			if strings.HasSuffix(name, "@") {
				h = &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}
			}
			if err := w.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
			if h.Size > 0 {
				w.Write([]byte("x"))
			}
		}
		if err := errors.Join(w.Close(), z.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	_, d, dir := opened(t, pack("attributes.txt", "birds/images.txt", "birds/images/a/1.jpg", "birds/._x", "birds/../../../outside.txt", "../birds/up.txt", "birds/link@"))
	d.Unpack, d.Spec = "birds", "cub200:%s/birds"
	if err := Get(t.Context(), d, filepath.Join(dir, "in"), quickly()); err != nil {
		t.Fatal(err)
	}
	var found []string
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error {
		if rel, _ := filepath.Rel(dir, path); !e.IsDir() {
			found = append(found, filepath.ToSlash(rel))
		}
		return nil
	})
	if want := []string{"in/birds/images/a/1.jpg", "in/birds/images.txt", "in/birds/up.txt", "in/set.bin"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	if got := d.Use("in/"); got != "cub200:in/birds" {
		t.Errorf("use %s", got)
	}
	if err := Get(t.Context(), d, filepath.Join(dir, "in"), quickly()); !errors.Is(err, ErrInTheWay) {
		t.Errorf("unpacked again: %v", err)
	}
	for name, content := range map[string][]byte{"no such folder": pack("x/y"), "no archive": []byte("hello"), "cut": pack("birds/a")[:30]} {
		_, d, dir := opened(t, content)
		d.Unpack = "birds"
		if err := Get(t.Context(), d, dir, quickly()); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Stat(filepath.Join(dir, "birds")); err == nil {
			t.Errorf("%s: left a folder", name)
		}
	}
}

func TestAMirrorIsHeldToTheSameChecksums(t *testing.T) {
	content := bigContent()
	s, d, dir := opened(t, content)
	o := quickly()
	o.Mirror = strings.TrimSuffix(d.Files[0].URL, "set.bin")
	d.Files[0].URL = "http://127.0.0.1:1/gone"
	if err := Get(t.Context(), d, dir, o); err != nil || len(s.ranges) != 1 {
		t.Fatalf("%d requests, %v", len(s.ranges), err)
	}
	stored(t, dir, content)
}

func TestDownloadsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Downloads() {
		if seen[d.Name] || d.Summary == "" || d.License == "" || d.Bytes == 0 || len(d.Files) == 0 || d.Unpack != "" && len(d.Files) != 1 {
			t.Errorf("%+v", d)
		}
		seen[d.Name] = true
		if kind, _, _ := strings.Cut(d.Use("x"), ":"); !slices.ContainsFunc(List(), func(i Info) bool { return i.Kind == kind }) {
			t.Errorf("%s is used as %s", d.Name, d.Use("x"))
		}
		for _, f := range d.Files {
			u, err := url.Parse(f.URL)
			sum, sumErr := hex.DecodeString(f.MD5)
			if err != nil || sumErr != nil || len(sum) != md5.Size || u.Host == "" || !strings.HasPrefix(u.Scheme, "http") || !strings.HasSuffix(u.Path, "/"+f.Name) {
				t.Errorf("%s: %+v", d.Name, f)
			}
		}
		if found, err := FindDownload(d.Name); err != nil || found.Name != d.Name {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
	for name, says := range map[string]string{"cars196": "cars196:FOLDER", "inshop": "agreement", "birds": "cub200"} {
		if _, err := FindDownload(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
