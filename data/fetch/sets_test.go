package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/data"
)

// opened serves content, and returns the set that consists of it and a new folder.
func opened(t *testing.T, content []byte) (Set, string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "set.bin", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(server.Close)
	sum := md5.Sum(content)
	return Set{Name: "set", Files: []File{{"set.bin", server.URL + "/set.bin", hex.EncodeToString(sum[:])}}}, t.TempDir()
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
	d, dir := opened(t, pack("attributes.txt", "birds/images.txt", "birds/images/a/1.jpg", "birds/._x", "birds/../../../outside.txt", "../birds/up.txt", "birds/link@"))
	d.Unpack, d.Spec = "birds", "cub200:%s/birds"
	if err := Get(t.Context(), d, filepath.Join(dir, "in"), Options{}); err != nil {
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
	if err := Get(t.Context(), d, filepath.Join(dir, "in"), Options{}); !errors.Is(err, ErrInTheWay) {
		t.Errorf("unpacked again: %v", err)
	}
	for name, content := range map[string][]byte{"no such folder": pack("x/y"), "no archive": []byte("hello"), "cut": pack("birds/a")[:30]} {
		d, dir := opened(t, content)
		d.Unpack = "birds"
		if err := Get(t.Context(), d, dir, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Stat(filepath.Join(dir, "birds")); err == nil {
			t.Errorf("%s: left a folder", name)
		}
	}
}

func TestAMirrorIsHeldToTheSameChecksums(t *testing.T) {
	d, dir := opened(t, []byte("birds"))
	o := Options{Mirror: strings.TrimSuffix(d.Files[0].URL, "set.bin")}
	d.Files[0].URL = "http://127.0.0.1:1/gone"
	if err := Get(t.Context(), d, dir, o); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "set.bin")); string(got) != "birds" {
		t.Errorf("%q, %v", got, err)
	}
	d.Files[0].MD5 = strings.Repeat("0", 32)
	if err := Get(t.Context(), d, t.TempDir(), o); !errors.Is(err, ErrWrongChecksum) || !strings.Contains(err.Error(), o.Mirror) {
		t.Errorf("other content: %v", err)
	}
}

func TestSetsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Sets() {
		if seen[d.Name] || d.Summary == "" || d.License == "" || d.Bytes == 0 || len(d.Files) == 0 || d.Unpack != "" && len(d.Files) != 1 {
			t.Errorf("%+v", d)
		}
		seen[d.Name] = true
		if kind, _, _ := strings.Cut(d.Use("x"), ":"); !slices.ContainsFunc(data.List(), func(i data.Info) bool { return i.Kind == kind }) {
			t.Errorf("%s is used as %s", d.Name, d.Use("x"))
		}
		for _, f := range d.Files {
			u, err := url.Parse(f.URL)
			sum, sumErr := hex.DecodeString(f.MD5)
			if err != nil || sumErr != nil || len(sum) != md5.Size || u.Host == "" || !strings.HasPrefix(u.Scheme, "http") || !strings.HasSuffix(u.Path, "/"+f.Name) {
				t.Errorf("%s: %+v", d.Name, f)
			}
		}
		if found, err := Find(d.Name); err != nil || found.Name != d.Name {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
	for name, says := range map[string]string{"cars196": "cars196:FOLDER", "inshop": "agreement", "birds": "cub200"} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
