package data

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/vernier-ml/vernier/internal/nametext"
)

// dotFile is a PNG file of one pixel of a brightness.
func dotFile(t *testing.T, value uint8) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 1, 1))
	m.Pix[0] = value
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// strangeNames are of files in folders of their classes; the brightness of an image
// is its place here.
func strangeNames() []string {
	return []string{"caf\xe9/a.png", "caf\xe9/b\\c.png", "caf\u00e9/a.png", `caf\xE9/a.png`, "two\nlines/\x1b[31m.png", "\xff\xfe/\x80.png"}
}

// writeStrange writes them, or skips the test on a file system that has no such names.
func writeStrange(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for i, name := range strangeNames() {
		file := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.WriteFile(file, dotFile(t, uint8(i)), 0o644)
		}
		if errors.Is(err, syscall.EILSEQ) || err != nil && runtime.GOOS != "linux" {
			t.Skipf("no file of this name here: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// checkStrange wants every image by the text of its name.
func checkStrange(t *testing.T, set *Set) {
	t.Helper()
	want := strangeNames()
	if len(set.Items) != len(want) {
		t.Fatalf("%d images, want %d", len(set.Items), len(want))
	}
	for i, it := range set.Items {
		at := slices.Index(want, nametext.Decode(it.Path))
		if at < 0 || !utf8.ValidString(it.Path) || !utf8.ValidString(set.Classes[it.Label]) || !utf8.ValidString(set.Where(i)) {
			t.Errorf("path %q, class %q, place %q", it.Path, set.Classes[it.Label], set.Where(i))
			continue
		}
		m, err := set.Load(context.Background(), i)
		if err != nil {
			t.Errorf("%q: %v", it.Path, err)
		} else if m.Pix[0] != uint8(at) {
			t.Errorf("%q is the image of brightness %d, want %d", it.Path, m.Pix[0], at)
		}
	}
	if n := len(set.Classes); n != 5 {
		t.Errorf("%d classes of 5: %q", n, set.Classes)
	}
	noted := 0
	for _, n := range set.Notices {
		if strings.Contains(n, "not UTF-8") && strings.HasPrefix(n, "4 paths ") {
			noted++
		}
	}
	if noted != 1 {
		t.Errorf("notices %q", set.Notices)
	}
}

func TestNamesThatAreNotUTF8InAFolder(t *testing.T) {
	root := writeStrange(t)
	set, err := Open(context.Background(), "folder:"+root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	checkStrange(t, set)
}

func TestNamesThatAreNotUTF8InATar(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i, name := range strangeNames() {
		text := dotFile(t, uint8(i))
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Format: tar.FormatGNU}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "set.tar")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	set, err := Open(context.Background(), "folder:"+file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	checkStrange(t, set)
}

// A table that was written with the paths of a set finds the same files.
func TestNamesThatAreNotUTF8InATable(t *testing.T) {
	root := writeStrange(t)
	var b strings.Builder
	b.WriteString("path,label\n")
	for _, name := range strangeNames() {
		fmt.Fprintf(&b, "\"%s\",%q\n", nametext.Encode(name), nametext.Valid(filepath.Dir(name)))
	}
	file := filepath.Join(root, "list.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	set, err := Open(context.Background(), "csv:"+file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for i, it := range set.Items {
		at := slices.Index(strangeNames(), nametext.Decode(it.Path))
		m, err := set.Load(context.Background(), i)
		if err != nil || at < 0 || m.Pix[0] != uint8(at) {
			t.Errorf("%q: place %d, %v", it.Path, at, err)
		}
	}
}

// The text of a folder's own name opens it, as config.json has it.
func TestAFolderIsOpenedByTheTextOfItsName(t *testing.T) {
	root := writeStrange(t)
	other := root + "/set \xe9"
	if err := os.MkdirAll(other+"/x", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other+"/x/a.png", dotFile(t, 9), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{"folder:" + other, "folder:" + nametext.Encode(other)} {
		set, err := Open(context.Background(), spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if set.Name != "folder:"+nametext.Encode(other) {
			t.Errorf("the set is called %q", set.Name)
		}
		if m, err := set.Load(context.Background(), 0); err != nil || m.Pix[0] != 9 {
			t.Errorf("%v", err)
		}
		set.Close()
	}
}
