package data

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

// tarFile writes entries in the order given; end says whether the end mark is written.
func tarFile(t testing.TB, end bool, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i, h := range entries {
		var content []byte
		if h.Typeflag == tar.TypeReg || h.Typeflag == 0 {
			content = imagetest.EncodePNG(t, picture(4, 4, uint64(i)))
			h.Size = int64(len(content))
		}
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if end {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func regular(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
func symbolic(name, to string) tar.Header {
	return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}
}
func hard(name, to string) tar.Header {
	return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeLink}
}

// putFile writes a file into a new folder.
func putFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// The links of an archive, by what becomes of each.
var linkEntries = []tar.Header{
	regular("s/a/1.png"), regular("s/a/2.png"), regular("s/b/1.png"),
	hard("s/a/hard.png", "s/a/1.png"), hard("s/a/before.png", "s/b/later.png"), regular("s/b/later.png"),
	symbolic("s/b/soft.png", "../a/2.png"), symbolic("s/b/twice.png", "soft.png"), hard("s/a/both.png", "s/b/twice.png"),
	symbolic("s/c", "a"), symbolic("s/b/through.png", "../c/1.png"),
	symbolic("s/b/loop.png", "pool.png"), symbolic("s/b/pool.png", "loop.png"),
	symbolic("s/b/out.png", "../../../etc/x.png"), symbolic("s/b/root.png", "/etc/x.png"), symbolic("s/b/none.png", "nothing.png"),
	symbolic("s/d", "/mnt/d"), hard("s/b/lost.png", "s/b/gone.png"),
}

func TestLinksInTarAreReadAsTheirTargets(t *testing.T) {
	same := map[string]string{
		"s/a/hard.png": "s/a/1.png", "s/a/before.png": "s/b/later.png", "s/b/soft.png": "s/a/2.png", "s/b/twice.png": "s/a/2.png",
		"s/a/both.png": "s/a/2.png", "s/b/through.png": "s/a/1.png",
	}
	unreadable := map[string]string{
		"s/b/loop.png": "leads back to itself", "s/b/pool.png": "leads back to itself", "s/b/out.png": "outside the archive",
		"s/b/root.png": "outside the archive", "s/b/none.png": "not in the archive", "s/b/lost.png": "not in the archive",
	}
	plain := tarFile(t, true, linkEntries...)
	for _, file := range []string{putFile(t, "x.tar", plain), putFile(t, "x.tgz", gzipped(plain))} {
		set := mustOpen(t, "folder:"+file)
		if !slices.Equal(set.Classes, []string{"a", "b"}) || len(set.Items) != 4+len(same)+len(unreadable) {
			t.Errorf("classes %q, %d images", set.Classes, len(set.Items))
		}
		content := map[string]string{}
		for i, it := range set.Items {
			b, err := set.store.content(it)
			if why := unreadable[it.Path]; why != "" {
				if err == nil || !strings.Contains(err.Error(), why) {
					t.Errorf("%s: %v, want %q", set.Where(i), err, why)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", set.Where(i), err)
			}
			content[it.Path] = string(b)
		}
		for link, target := range same {
			if content[link] == "" || content[link] != content[target] {
				t.Errorf("%s is not %s", link, target)
			}
		}
		notices := strings.Join(append(set.Notices, set.Problems...), "\n")
		for _, want := range []string{"1 link to folders that are read under another name left out: s/c", "1 link to nothing that can be read left out: s/d"} {
			if !strings.Contains(notices, want) {
				t.Errorf("%s\nwant %q", notices, want)
			}
		}
	}
}

func TestLinksInZipAreReadAsTheirTargets(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	put := func(name string, mode fs.FileMode, content []byte) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(mode)
		e, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	one := imagetest.EncodePNG(t, picture(4, 4, 1))
	put("a/1.png", 0o644, one)
	put("b/2.png", 0o644, imagetest.EncodePNG(t, picture(4, 4, 2)))
	put("b/soft.png", 0o777|fs.ModeSymlink, []byte("../a/1.png"))
	put("b/out.png", 0o777|fs.ModeSymlink, []byte("../../x.png"))
	put("b/pipe.png", 0o644|fs.ModeNamedPipe, nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	set := mustOpen(t, "folder:"+putFile(t, "x.zip", b.Bytes()))
	got := map[string]string{}
	for _, it := range set.Items {
		content, err := set.store.content(it)
		if got[it.Path] = string(content); err != nil {
			got[it.Path] = err.Error()
		}
	}
	want := map[string]string{
		"a/1.png": string(one), "b/2.png": got["b/2.png"], "b/soft.png": string(one), "b/pipe.png": "a named pipe, not a file",
		"b/out.png": "a link to ../../x.png, which lies outside the archive",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestArchiveNamesAreThoseOfAnUnpackedArchive(t *testing.T) {
	names := []string{"/s/a/1.png", "./s/a/2.png", "../../s/b/3.png", "s/a/../b/4.png", `s/AC\DC/5.png`, "s/a/1.png", "s//a/2.png"}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	var entries []tar.Header
	for i, name := range names {
		entries = append(entries, regular(name))
		h := &zip.FileHeader{Name: name}
		h.SetMode(0o644) // as made on Unix
		e, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		e.Write(imagetest.EncodePNG(t, picture(4, 4, uint64(i))))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{`s/AC\DC/5.png`, "s/a/1.png", "s/a/2.png", "s/b/3.png", "s/b/4.png"}
	for _, file := range []string{putFile(t, "x.tar", tarFile(t, true, entries...)), putFile(t, "x.zip", b.Bytes())} {
		set := mustOpen(t, "folder:"+file)
		var paths []string
		for i, it := range set.Items {
			paths = append(paths, it.Path)
			m, err := set.Load(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			if last := map[string]uint64{"s/a/1.png": 5, "s/a/2.png": 6}[it.Path]; last != 0 && !bytes.Equal(m.Pix, picture(4, 4, last).Pix) {
				t.Errorf("%s: %s is not the last of its name", file, it.Path)
			}
		}
		if !slices.Equal(paths, want) || !slices.Equal(set.Classes, []string{`AC\DC`, "a", "b"}) {
			t.Errorf("%s: %q, classes %q", file, paths, set.Classes)
		}
		if !slices.Equal(set.Notices, []string{"2 names in the archive more than once, of which the last is read: s/a/1.png, s/a/2.png"}) || len(set.Problems) > 0 {
			t.Errorf("%q, %q", set.Notices, set.Problems)
		}
	}
}

func TestCutArchivesAreNoticed(t *testing.T) {
	entries := []tar.Header{regular("a/1.png"), regular("a/2.png"), regular("b/1.png"), regular("b/2.png")}
	whole := tarFile(t, true, entries...)
	open := tarFile(t, false, entries...)
	two := tarFile(t, false, entries[:2]...)
	zipped, err := os.ReadFile(classes(t, []string{"a", "b"}, 2).zip(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file          []byte
		problem, fail string
	}{
		"whole.tar":       {whole, "", ""},
		"one block.tar":   {append(slices.Clone(open), make([]byte, 512)...), "", ""},
		"no end.tar":      {open, "no end mark", ""},
		"at a file.tar":   {whole[:len(open)-1024], "no end mark", ""},
		"long zeros.tar":  {append(slices.Clone(whole), make([]byte, 20000)...), "", ""},
		"joined.tar":      {append(slices.Clone(whole), whole...), "goes on after its end mark", ""},
		"in a header.tar": {whole[:len(two)+100], "", "the file ends too early: it was cut off"},
		"in a file.tar":   {whole[:len(two)+512+20], "", "the file ends too early: it was cut off"},
		"no end.tgz":      {gzipped(open), "no end mark", ""},
		"cut.tgz":         {gzipped(whole)[:len(gzipped(whole))/2], "", "damaged gzip file: the file ends too early: it was cut off"},
		"end.tgz":         {gzipped(whole)[:len(gzipped(whole))-4], "", "damaged gzip file: the file ends too early"},
		"text.gz":         {gzipped([]byte("path,label\n")), "", "not of a tar archive"},
		"no list.zip":     {zipped[:len(zipped)-30], "", "its directory, which stands at the end, is missing"},
	} {
		// The 1024 bytes before the end of an archive of four files are its last file.
		set, err := Open(t.Context(), "folder:"+putFile(t, name, c.file), Options{})
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
		if got := strings.Join(set.Problems, "\n"); c.problem == "" && got != "" || !strings.Contains(got, c.problem) {
			t.Errorf("%s: problems %q, want %q", name, got, c.problem)
		}
		set.Close()
	}
}

// bzippedTar is an archive of a/1.pbm, a/2.pbm, b/1.pbm and b/2.pbm, each of one white pixel, that
// Python's tarfile and bz2 made: the standard library does not pack.
func bzippedTar(t testing.TB) []byte {
	t.Helper()
	return decoded(t, "QlpoOTFBWSZTWUp79kwAANLbgMqBQAH3gEAgcAJeAAoIIACQKAAaAAAKokmTTQzUHqBtS9jQUJiRE4RCIddW3swMxkaEnEiEhMNoRWZt6mamRJiUIZEiFihDyYGIsWeDgUZ6lSkcjE3KC19yX4qfTuXLlzQg/i7kinChIJT37Jg=")
}

func decoded(t testing.TB, text string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTarOfBzip2IsRead(t *testing.T) {
	file := bzippedTar(t)
	set := mustOpen(t, "folder:"+putFile(t, "x.tar.bz2", file))
	if !slices.Equal(set.Classes, []string{"a", "b"}) || len(set.Items) != 4 || len(set.Problems) > 0 {
		t.Errorf("%q, %d images, %q", set.Classes, len(set.Items), set.Problems)
	}
	if m, err := set.Load(t.Context(), 3); err != nil || !bytes.Equal(m.Pix, []uint8{255, 255, 255}) {
		t.Errorf("%v, %v", m, err)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"cut":     {file[:len(file)-9], "damaged bzip2 file: the file ends too early: it was cut off"},
		"damaged": {slices.Concat(file[:60], []byte("????"), file[64:]), "damaged bzip2 file: "},
	} {
		if _, err := Open(t.Context(), "folder:"+putFile(t, "x.tar.bz2", c.file), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBytesBehindACompressedStreamAreSaid(t *testing.T) {
	entries := []tar.Header{regular("a/1.png"), regular("a/2.png"), regular("b/1.png"), regular("b/2.png")}
	whole := tarFile(t, true, entries...)
	half := len(whole) / 2
	for name, c := range map[string]struct {
		file    []byte
		problem string
	}{
		"zeros":       {append(gzipped(whole), make([]byte, 5000)...), ""},
		"two members": {append(gzipped(whole[:half]), gzipped(whole[half:])...), ""},
		"bzip2":       {append(bzippedTar(t), "text"...), "other bytes follow the compressed archive and are not read: it was damaged, or several files were joined, and images may be missing"},
		"text":        {append(gzipped(whole), "text"...), "other bytes follow the compressed archive and are not read: it was damaged, or several files were joined, and images may be missing"},
	} {
		set := mustOpen(t, "folder:"+putFile(t, "x.bin", c.file))
		if len(set.Items) != 4 || strings.Join(set.Problems, "|") != c.problem {
			t.Errorf("%s: %d images, problems %q", name, len(set.Items), set.Problems)
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
		"empty.tgz":    {gzipped(make([]byte, 10240)), "a gzip file of an empty archive"},
		"page.zip":     {[]byte("<!DOCTYPE html><html>404"), "a web page, which a download saved in its place; fetch the archive again" + wanted},
		"page.tgz":     {gzipped([]byte("<!DOCTYPE html><html>404")), "a gzip file, but not of a tar archive: it holds a web page"},
		"lfs.tar":      {[]byte("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"), "a Git LFS pointer, which stands for the archive; fetch the archive with git lfs pull" + wanted},
		"x.tar.xz":     {[]byte("\xfd7zXZ\x00\x00\x04"), "an xz file; unpack it and give the folder"},
		"x.7z":         {[]byte("7z\xbc\xaf\x27\x1c\x00"), "a 7z archive; unpack it and give the folder"},
		"x.rar":        {[]byte("Rar!\x1a\x07\x01"), "a RAR archive; unpack it and give the folder"},
		"x.tar.zst":    {[]byte("\x28\xb5\x2f\xfd\x00"), "a Zstandard file; unpack it and give the folder"},
		"x.z01":        {[]byte("PK\x07\x08PK\x03\x04"), "the first of several files of one zip archive: unpack it and give the folder"},
		"picture.png":  {imagetest.EncodePNG(t, picture(2, 2, 1)), "a PNG picture" + wanted},
		"x.heic":       {[]byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00"), "a HEIC picture, as phones take them" + wanted},
		"list.txt":     {[]byte("a/1.png a\n"), `text that begins "a/1.png a"` + wanted},
		"program":      {[]byte("\x7fELF\x02"), "a program" + wanted},
		"x.bin":        {[]byte("\x01\x02\x03"), "it begins with the bytes 01 02 03" + wanted},
		"text.csv.bz2": {decoded(t, "QlpoOTFBWSZTWdswl0oAAAjRgAAQAAUyxUQAIAAxA0DQKBtMp+qMcuqR2EEky+fF3JFOFCQ2zCXSgA=="), `a bzip2 file, but not of a tar archive: it holds text that begins "path,label"`},
	} {
		file := putFile(t, name, c.file)
		if _, err := Open(t.Context(), "folder:"+file, Options{}); err == nil || !strings.Contains(err.Error(), file+": "+c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTarFromBeforePOSIXIsRead(t *testing.T) {
	file := tarFile(t, true, regular("a/1.png"), regular("b/1.png"))
	for at := 0; string(file[at+257:at+262]) == "ustar"; { // the heads of both entries
		head := file[at : at+512]
		size, err := strconv.ParseInt(strings.Trim(string(head[124:136]), " \x00"), 8, 64)
		if err != nil {
			t.Fatal(err)
		}
		clear(head[257:345])
		copy(head[148:], "        ")
		sum := 0
		for _, b := range head {
			sum += int(b)
		}
		copy(head[148:], fmt.Sprintf("%06o\x00 ", sum))
		at += 512 + int(size+511)/512*512
	}
	if set := mustOpen(t, "folder:"+putFile(t, "x.tar", file)); !slices.Equal(set.Classes, []string{"a", "b"}) {
		t.Errorf("%q", set.Classes)
	}
}

func TestBackslashesSeparateFoldersWhereNoSlashDoes(t *testing.T) {
	for name, c := range map[string]struct {
		names, classes []string
	}{
		"backslashes alone": {[]string{`s\a\`, `s\a\1.png`, `s\b\1.png`, `s\b\2.png`}, []string{"a", "b"}},
		"beside slashes":    {[]string{`s/AC\DC/1.png`, `s/b/1.png`}, []string{`AC\DC`, "b"}},
	} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for i, n := range c.names {
			h := &zip.FileHeader{Name: n}
			h.SetMode(0o644) // as made on Unix
			e, err := w.CreateHeader(h)
			if err != nil {
				t.Fatal(err)
			}
			e.Write(imagetest.EncodePNG(t, picture(4, 4, uint64(i))))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		set := mustOpen(t, "folder:"+putFile(t, "x.zip", b.Bytes()))
		if !slices.Equal(set.Classes, c.classes) || len(set.Problems)+len(set.Notices) > 0 {
			t.Errorf("%s: %q, %q, %q", name, set.Classes, set.Problems, set.Notices)
		}
	}
}

func TestEntriesThatCannotBeReadInPlaceAreListed(t *testing.T) {
	set := mustOpen(t, "folder:"+putFile(t, "x.tar", tarFile(t, true, regular("a/1.png"), regular("b/1.png"),
		tar.Header{Name: "b/pipe.png", Typeflag: tar.TypeFifo}, tar.Header{Name: "b/device.png", Typeflag: tar.TypeChar})))
	var got []string
	for i := range set.Items {
		if _, err := set.Load(t.Context(), i); err != nil {
			got = append(got, set.Items[i].Path+": "+reason(err))
		}
	}
	if want := []string{"b/device.png: a device, not a file", "b/pipe.png: a named pipe, not a file"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := set.store.content(Item{Path: "b/2.png"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
