package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/internal/progress"
)

// entriesOf opens an archive and lists it.
func entriesOf(t *testing.T, file string) (*Entries, error) {
	t.Helper()
	w := progress.New(t.Context(), nil)
	src, err := Open(w, file)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return ReadEntries(w, src)
}

// zipOf is a zip archive of entries without content.
func zipOf(t testing.TB, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		if _, err := w.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCutArchivesAreNoticed(t *testing.T) {
	entries := []tar.Header{imagetest.Regular("a/1.png"), imagetest.Regular("a/2.png"), imagetest.Regular("b/1.png"), imagetest.Regular("b/2.png")}
	whole := imagetest.Tar(t, true, entries...)
	open := imagetest.Tar(t, false, entries...)
	two := imagetest.Tar(t, false, entries[:2]...)
	zipped := zipOf(t, "a/1.png", "a/2.png", "b/1.png", "b/2.png")
	for name, c := range map[string]struct {
		file          []byte
		problem, fail string
	}{
		"whole.tar":       {whole, "", ""},
		"one block.tar":   {append(slices.Clone(open), make([]byte, 512)...), "", ""},
		"no end.tar":      {open, "no end mark", ""},
		"at a file.tar":   {whole[:len(open)-1024], "no end mark", ""},
		"long zeros.tar":  {append(slices.Clone(whole), make([]byte, 20000)...), "", ""},
		"joined.tar":      {append(slices.Clone(whole), whole...), "continues after its end mark", ""},
		"in a header.tar": {whole[:len(two)+100], "", "the file ends too early: it was cut off"},
		"in a file.tar":   {whole[:len(two)+512+20], "", "the file ends too early: it was cut off"},
		"no end.tgz":      {imagetest.Gzip(open), "no end mark", ""},
		"cut.tgz":         {imagetest.Gzip(whole)[:len(imagetest.Gzip(whole))/2], "", "damaged gzip file: the file ends too early: it was cut off"},
		"end.tgz":         {imagetest.Gzip(whole)[:len(imagetest.Gzip(whole))-4], "", "damaged gzip file: the file ends too early"},
		"text.gz":         {imagetest.Gzip([]byte("path,label\n")), "", "not of a tar archive"},
		"no list.zip":     {zipped[:len(zipped)-30], "", "its directory, which stands at the end, is missing"},
	} {
		// The 1024 bytes before the end of an archive of four files are its last file.
		found, err := entriesOf(t, imagetest.PutFile(t, name, c.file))
		if c.fail != "" {
			if err == nil || !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%s: %v, want %q", name, err, c.fail)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(found.Problems, "\n"); c.problem == "" && got != "" || !strings.Contains(got, c.problem) {
			t.Errorf("%s: problems %q, want %q", name, got, c.problem)
		}
	}
}

func TestBytesBehindACompressedStreamAreSaid(t *testing.T) {
	entries := []tar.Header{imagetest.Regular("a/1.png"), imagetest.Regular("a/2.png"), imagetest.Regular("b/1.png"), imagetest.Regular("b/2.png")}
	whole := imagetest.Tar(t, true, entries...)
	half := len(whole) / 2
	for name, c := range map[string]struct {
		file    []byte
		problem string
	}{
		"zeros":       {append(imagetest.Gzip(whole), make([]byte, 5000)...), ""},
		"two members": {append(imagetest.Gzip(whole[:half]), imagetest.Gzip(whole[half:])...), ""},
		"bzip2":       {append(imagetest.BzippedTar(t), "text"...), "other bytes follow the compressed archive and are not read: it was damaged, or several files were joined, and images may be missing"},
		"text":        {append(imagetest.Gzip(whole), "text"...), "other bytes follow the compressed archive and are not read: it was damaged, or several files were joined, and images may be missing"},
	} {
		found, err := entriesOf(t, imagetest.PutFile(t, "x.bin", c.file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(found.Images) != 4 || strings.Join(found.Problems, "|") != c.problem {
			t.Errorf("%s: %d images, problems %q", name, len(found.Images), found.Problems)
		}
	}
}

func TestWhatIsNoArchiveIsNamed(t *testing.T) {
	const wanted = "; wanted is a folder, or a .zip, .tar, .tgz or .tar.bz2 archive"
	empty := func(w func(*bytes.Buffer)) []byte {
		var b bytes.Buffer
		w(&b)
		return b.Bytes()
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"nothing.zip":  {nil, "an empty file: copy or fetch the archive again"},
		"empty.zip":    {empty(func(b *bytes.Buffer) { zip.NewWriter(b).Close() }), "an empty zip archive"},
		"empty.tar":    {make([]byte, 10240), "zeros, of which an empty tar archive consists"},
		"empty.tgz":    {imagetest.Gzip(make([]byte, 10240)), "a gzip file of an empty archive"},
		"page.zip":     {[]byte("<!DOCTYPE html><html>404"), "a web page, which a download saved in its place; fetch the archive again" + wanted},
		"page.tgz":     {imagetest.Gzip([]byte("<!DOCTYPE html><html>404")), "a gzip file, but not of a tar archive: it holds a web page"},
		"lfs.tar":      {[]byte("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"), "a Git LFS pointer, which stands for the archive; fetch the archive with git lfs pull" + wanted},
		"x.tar.xz":     {[]byte("\xfd7zXZ\x00\x00\x04"), "an xz file; unpack it and give the folder"},
		"x.7z":         {[]byte("7z\xbc\xaf\x27\x1c\x00"), "a 7z archive; unpack it and give the folder"},
		"x.rar":        {[]byte("Rar!\x1a\x07\x01"), "a RAR archive; unpack it and give the folder"},
		"x.tar.zst":    {[]byte("\x28\xb5\x2f\xfd\x00"), "a Zstandard file; unpack it and give the folder"},
		"x.z01":        {[]byte("PK\x07\x08PK\x03\x04"), "the first of several files of one zip archive: unpack it and give the folder"},
		"picture.png":  {imagetest.PNGOfZeros(t, 2, 2), "a PNG picture" + wanted},
		"x.heic":       {[]byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00"), "a HEIC picture, as phones take them" + wanted},
		"list.txt":     {[]byte("a/1.png a\n"), `text that begins "a/1.png a"` + wanted},
		"program":      {[]byte("\x7fELF\x02"), "a program" + wanted},
		"x.bin":        {[]byte("\x01\x02\x03"), "it begins with the bytes 01 02 03" + wanted},
		"text.csv.bz2": {imagetest.Base64(t, "QlpoOTFBWSZTWdswl0oAAAjRgAAQAAUyxUQAIAAxA0DQKBtMp+qMcuqR2EEky+fF3JFOFCQ2zCXSgA=="), `a bzip2 file, but not of a tar archive: it holds text that begins "path,label"`},
	} {
		file := imagetest.PutFile(t, name, c.file)
		if _, err := entriesOf(t, file); err == nil || !strings.Contains(err.Error(), file+": "+c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
