package data

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/pixels"
)

func TestFolderAndZipGiveTheSameSet(t *testing.T) {
	png1 := func(seed uint64) []byte { return imagetest.EncodePNG(t, picture(5, 4, seed)) }
	f := files{
		"images/b class/10.png":     png1(1),
		"images/b class/9.png":      png1(2),
		"images/ünïcode/x y.PNG":    png1(3),
		"images/a/1.jpg":            imagetest.EncodeJPEG(t, smooth(5, 4, 4)),
		"images/a/._1.jpg":          []byte("resource fork"),
		"images/a/.DS_Store":        []byte("x"),
		"images/a/Thumbs.db":        []byte("x"),
		"__MACOSX/images/a/._1.jpg": []byte("x"),
		"images/readme.txt":         []byte("notes"),
	}
	wantClasses := []string{"a", "b class", "ünïcode"}
	wantPaths := []string{"images/a/1.jpg", "images/b class/9.png", "images/b class/10.png", "images/ünïcode/x y.PNG"}
	var hashes []string
	for _, root := range []string{f.folder(t), f.zip(t)} {
		set := mustOpen(t, "folder:"+root)
		var paths []string
		for i, it := range set.Items {
			paths = append(paths, it.Path)
			if m, err := set.Load(t.Context(), i); err != nil || m.W != 5 || m.H != 4 {
				t.Errorf("%s: %v", it.Path, err)
			}
		}
		if !slices.Equal(set.Classes, wantClasses) || !slices.Equal(paths, wantPaths) {
			t.Errorf("%s: classes %q, paths %q", root, set.Classes, paths)
		}
		if !slices.Equal(set.Labels(), []int{0, 1, 1, 2}) {
			t.Errorf("labels %v", set.Labels())
		}
		if len(set.Notices) != 1 || !strings.Contains(set.Notices[0], "1 .txt") {
			t.Errorf("notices %q", set.Notices)
		}
		hash, err := set.Hash()
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, hash)
	}
	if hashes[0] != hashes[1] {
		t.Error("folder and archive have different hashes")
	}
}

func TestHashChangesWithContentNameAndClass(t *testing.T) {
	base := classes(t, []string{"a", "b"}, 2)
	seen := map[string]string{}
	for name, change := range map[string]func(files){
		"nothing": func(files) {},
		"content": func(f files) { f["a/aa.png"] = imagetest.EncodePNG(t, picture(8, 8, 99)) },
		"name":    func(f files) { f["a/new.png"] = f["a/aa.png"]; delete(f, "a/aa.png") },
		"class":   func(f files) { f["b/new.png"] = f["a/aa.png"]; delete(f, "a/aa.png") },
		"missing": func(f files) { delete(f, "a/aa.png") },
	} {
		f := files{}
		for k, v := range base {
			f[k] = v
		}
		change(f)
		hash, err := mustOpen(t, "folder:"+f.folder(t)).Hash()
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[hash]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[hash] = name
	}
}

func TestNestedFoldersAreClassesBelowTheSharedFolder(t *testing.T) {
	one := imagetest.EncodePNG(t, picture(3, 3, 1))
	for name, c := range map[string]struct {
		paths, classes []string
		notices        int
	}{
		"Omniglot":                  {[]string{"images_background/Greek/character01/1.png", "images_background/Greek/character02/1.png", "images_background/Latin/character01/1.png"}, []string{"Greek/character01", "Greek/character02", "Latin/character01"}, 0},
		"one alphabet":              {[]string{"x/Greek/character1/1.png", "x/Greek/character10/1.png", "x/Greek/character2/1.png"}, []string{"character1", "character2", "character10"}, 0},
		"one class":                 {[]string{"x/y/1.png", "x/y/2.png"}, []string{"y"}, 0},
		"class above a class":       {[]string{"x/A/1.png", "x/A/B/1.png", "x/C/1.png"}, []string{"A", "A/B", "C"}, 0},
		"stray image in the root":   {[]string{"montage.png", "images/A/1.png", "images/B/1.png"}, []string{"A", "B"}, 1},
		"stray image above classes": {[]string{"images/montage.png", "images/A/1.png", "images/B/1.png"}, []string{"A", "B"}, 1},
		"names that share a start":  {[]string{"cat/1.png", "cats/1.png", "ca/1.png"}, []string{"ca", "cat", "cats"}, 0},
	} {
		f := files{}
		for _, p := range c.paths {
			f[p] = one
		}
		set := mustOpen(t, "folder:"+f.folder(t))
		if !slices.Equal(set.Classes, c.classes) || len(set.Notices) != c.notices {
			t.Errorf("%s: classes %q, notices %q; want %q, %d notice(s)", name, set.Classes, set.Notices, c.classes, c.notices)
		}
	}
}

func TestUnusableFoldersAreRefusedWithAReason(t *testing.T) {
	text := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(text, []byte("not an archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(broken, []byte("PK\x03\x04 and no more"), 0o644); err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]string{
		"folder:" + filepath.Join(t.TempDir(), "none"):      "there is no such folder",
		"folder:" + t.TempDir():                             "no images",
		"folder:" + files{"a/x.txt": []byte("x")}.folder(t): "no images in it (1 .txt)",
		"folder:" + text:                                    "wanted is a folder, or a .zip",
		"folder:" + broken:                                  "damaged zip archive",
		"folder:":                                           "it is written folder:PATH",
		"folder":                                            "it is written folder:PATH",
		"glyphs:x":                                          "it is written glyphs",
		"cub":                                               "there are glyphs, folder:PATH",
	} {
		set, err := Open(t.Context(), spec, Options{})
		if err == nil || set != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", spec, err, want)
		}
	}
}

func TestUnreadableImageIsNamed(t *testing.T) {
	f := files{
		"a/good.png": imagetest.EncodePNG(t, picture(3, 3, 1)), "b/good.png": imagetest.EncodePNG(t, picture(3, 3, 2)),
		"a/text.jpg": []byte("I am a text"), "b/cut.jpg": imagetest.EncodeJPEG(t, picture(40, 40, 1))[:300],
	}
	for _, root := range []string{f.folder(t), f.zip(t)} {
		set := mustOpen(t, "folder:"+root)
		bad := 0
		for i, it := range set.Items {
			_, err := set.Load(t.Context(), i)
			if strings.HasSuffix(it.Path, "good.png") {
				if err != nil {
					t.Error(err)
				}
				continue
			}
			bad++
			var named *ImageError
			if !errors.As(err, &named) || !strings.Contains(named.Path, root) || !strings.Contains(filepath.ToSlash(named.Path), it.Path) {
				t.Errorf("%s: %v", it.Path, err)
			}
		}
		if bad != 2 {
			t.Errorf("%d bad images", bad)
		}
	}
}

func TestZipWithBackslashesAndBadChecksum(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	content := imagetest.EncodePNG(t, picture(6, 6, 1))
	for _, name := range []string{`set\a\1.png`, `set\b\1.png`, `set\b\`} {
		e, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, `\`) {
			e.Write(content)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// Damage the pixels of the first file, not the archive's own structure.
	at := bytes.Index(b.Bytes(), content)
	b.Bytes()[at+60] ^= 0xff
	path := filepath.Join(t.TempDir(), "w.zip")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	set := mustOpen(t, "folder:"+path)
	if !slices.Equal(set.Classes, []string{"a", "b"}) {
		t.Fatalf("classes %q", set.Classes)
	}
	if _, err := set.Load(t.Context(), 0); !errors.Is(err, zip.ErrChecksum) {
		t.Errorf("damaged entry: %v", err)
	}
	if _, err := set.Load(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

func TestLinkedClassFoldersAreFollowedOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	real := files{"1.png": imagetest.EncodePNG(t, picture(3, 3, 1))}.folder(t)
	root := files{"a/1.png": imagetest.EncodePNG(t, picture(3, 3, 2))}.folder(t)
	if err := os.Symlink(real, filepath.Join(root, "b")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, filepath.Join(root, "a", "loop")); err != nil {
		t.Fatal(err)
	}
	set := mustOpen(t, "folder:"+root)
	if !slices.Equal(set.Classes, []string{"a", "b"}) || len(set.Items) != 2 {
		t.Errorf("classes %q, %d images", set.Classes, len(set.Items))
	}
}

func TestListNamesWhatOpenKnows(t *testing.T) {
	kinds := map[string]bool{}
	for _, info := range List() {
		kinds[info.Kind] = true
		if info.Summary == "" || !strings.HasPrefix(info.Usage, info.Kind) {
			t.Errorf("%+v", info)
		}
	}
	if !kinds["glyphs"] || !kinds["folder"] {
		t.Errorf("kinds %v", kinds)
	}
}

func TestTheSharedFolderOfImages(t *testing.T) {
	for _, c := range []struct {
		images []string
		want   string
	}{
		{[]string{"a/b/c/1.png", "a/b/d/1.png"}, "a/b"},
		{[]string{"a/b/1.png", "a/b/2.png"}, "a"}, // one class
		{[]string{"a/1.png", "b/1.png", "2.png"}, ""},
		{[]string{"/a/b/1.png", "/a/c/1.png"}, "/a"},
		{[]string{"/a/b/1.png", "c/d/1.png"}, ""}, // nothing is shared, and nothing is searched for ever
	} {
		if got := sharedFolder(c.images); got != c.want {
			t.Errorf("%q: %q, want %q", c.images, got, c.want)
		}
	}
}

// A class whose images are all missing, or of a kind that is not read, is no class: that
// is said, with its name.
func TestFoldersWithoutImagesBesideClassesAreSaid(t *testing.T) {
	image := imagetest.EncodePNG(t, pixels.NewRGB(2, 2))
	root := files{"ant/1.png": image, "ant/2.png": image, "bee/1.png": image, "bee/2.png": image, "fly/1.heic": []byte("x"), "notes.txt": []byte("x")}.folder(t)
	for _, dir := range []string{"owl", ".cache"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	set := mustOpen(t, "folder:"+root)
	if text := strings.Join(set.Notices, "\n"); !strings.Contains(text, "2 folders beside those of classes without an image that is read: fly, owl") {
		t.Errorf("%q", set.Notices)
	}
	// Under one folder above the classes, too; what stands elsewhere is no class.
	nested := files{"photos/ant/1.png": image, "photos/bee/1.png": image, "photos/owl/x.txt": []byte("x"), "docs/a/b.txt": []byte("x")}.zip(t)
	set = mustOpen(t, "folder:"+nested)
	if text := strings.Join(set.Notices, "\n"); !strings.Contains(text, "without an image that is read: docs, photos/owl") {
		t.Errorf("%q", set.Notices)
	}
}
