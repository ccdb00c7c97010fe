package data

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestHiddenFilesAndFoldersAreLeftOutAndCounted(t *testing.T) {
	f := classes(t, []string{"a", "b"}, 2)
	one := f["a/aa.png"]
	f["a/.ipynb_checkpoints/aa-checkpoint.png"], f["b/.thumbnails/x/aa.png"], f["b/.thumbnails/bb.png"] = one, one, one
	f["b/.hidden.png"], f[".git/config"], f["a/.DS_Store"] = one, []byte("x"), []byte("x")
	const want = "3 folders and 1 file left out because a name that begins with a dot is hidden: .git, a/.ipynb_checkpoints, b/.hidden.png, b/.thumbnails"
	for _, root := range []string{f.folder(t), f.zip(t)} {
		set := mustOpen(t, "folder:"+root)
		if !slices.Equal(set.Classes, []string{"a", "b"}) || len(set.Items) != 4 || !slices.Equal(set.Notices, []string{want}) {
			t.Errorf("%s: classes %q, %d images, notices %q", root, set.Classes, len(set.Items), set.Notices)
		}
		loose, err := OpenImages(t.Context(), []string{root}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(loose.Items) != 4 || !slices.Equal(loose.Notices, []string{root + ": " + want}) {
			t.Errorf("%s: %d images, notices %q", root, len(loose.Items), loose.Notices)
		}
		loose.Close()
	}
	// What is named by itself is meant.
	root := f.folder(t)
	loose, err := OpenImages(t.Context(), []string{filepath.Join(root, "b", ".hidden.png"), filepath.Join(root, "b", ".thumbnails")}, Options{})
	if err != nil || len(loose.Items) != 3 {
		t.Errorf("%v, %v", loose, err)
	}
}

func TestWhatIsNoRegularFileIsListedAndNeverOpened(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no named pipes among files")
	}
	root := classes(t, []string{"a", "b"}, 2).folder(t)
	pipe := filepath.Join(root, "a", "pipe.jpg")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Skip(err)
	}
	t.Chdir(root) // the name of a socket must be short
	l, err := net.Listen("unix", "b/socket.jpg")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	if err := os.Symlink(os.DevNull, filepath.Join(root, "b", "null.png")); err != nil {
		t.Fatal(err)
	}
	r, err := Check(t.Context(), "folder:"+root, CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range r.Bad {
		got = append(got, filepath.Base(b.Path)+": "+b.Reason)
	}
	if want := []string{"pipe.jpg: a named pipe, not a file", "null.png: a device, not a file", "socket.jpg: a socket, not a file"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	loose, err := OpenImages(t.Context(), []string{pipe}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := loose.Load(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "a named pipe") {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.Context(), "folder:"+pipe, Options{}); err == nil || !strings.Contains(err.Error(), "a named pipe, not a file") {
		t.Errorf("%v", err)
	}
}

func TestLinkedFoldersAreListedUnderTheirOwnNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	root := classes(t, []string{"b", "c"}, 1).folder(t)
	for link, to := range map[string]string{"a": "b", "c/gone.png": "nothing.png", "d": "/nowhere/d"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	set := mustOpen(t, "folder:"+root)
	if !slices.Equal(set.Classes, []string{"b", "c"}) || len(set.Items) != 3 {
		t.Errorf("classes %q, %d images", set.Classes, len(set.Items))
	}
	if !slices.Equal(set.Notices, []string{"1 link to folders that are read under another name left out: a"}) ||
		!slices.Equal(set.Problems, []string{"1 link to nothing that can be read left out: d"}) {
		t.Errorf("%q, %q", set.Notices, set.Problems)
	}
	if _, err := set.Load(t.Context(), 2); err == nil || !strings.Contains(err.Error(), "a link to nothing.png, which is not there") {
		t.Errorf("%v", err)
	}
}

func TestPicturesOfFormatsThatAreNotReadAreNamed(t *testing.T) {
	f := classes(t, []string{"a", "b"}, 1)
	f["a/1.HEIC"], f["b/2.heic"], f["b/2.avif"], f["b/2.xmp"] = []byte("x"), []byte("x"), []byte("x"), []byte("x")
	set := mustOpen(t, "folder:"+f.folder(t))
	if want := []string{"pictures left out because their format is not read (1 .avif, 2 .heic): convert them to JPEG or PNG", "files left out because their names are not those of images (1 .xmp)"}; !slices.Equal(set.Notices, want) {
		t.Errorf("%q", set.Notices)
	}
	_, err := OpenImages(t.Context(), []string{files{"a/1.heic": []byte("x")}.folder(t)}, Options{})
	if err == nil || !strings.Contains(err.Error(), "no images in it (1 .heic); pictures of these formats are not read: convert them to JPEG or PNG") {
		t.Errorf("%v", err)
	}
}
