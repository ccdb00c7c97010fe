package data

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

func TestLinksInTarAreReadAsTheirTargets(t *testing.T) {
	same := map[string]string{
		"s/a/hard.png": "s/a/1.png", "s/a/before.png": "s/b/later.png", "s/b/soft.png": "s/a/2.png", "s/b/twice.png": "s/a/2.png",
		"s/a/both.png": "s/a/2.png", "s/b/through.png": "s/a/1.png",
	}
	unreadable := map[string]string{
		"s/b/loop.png": "leads back to itself", "s/b/pool.png": "leads back to itself", "s/b/out.png": "outside the archive",
		"s/b/root.png": "outside the archive", "s/b/none.png": "not in the archive", "s/b/lost.png": "not in the archive",
	}
	plain := imagetest.Tar(t, true, imagetest.LinkEntries()...)
	for _, file := range []string{imagetest.PutFile(t, "x.tar", plain), imagetest.PutFile(t, "x.tgz", imagetest.Gzip(plain))} {
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
	set := mustOpen(t, "folder:"+imagetest.PutFile(t, "x.zip", b.Bytes()))
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
		entries = append(entries, imagetest.Regular(name))
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
	for _, file := range []string{imagetest.PutFile(t, "x.tar", imagetest.Tar(t, true, entries...)), imagetest.PutFile(t, "x.zip", b.Bytes())} {
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

func TestTarOfBzip2IsRead(t *testing.T) {
	file := imagetest.BzippedTar(t)
	set := mustOpen(t, "folder:"+imagetest.PutFile(t, "x.tar.bz2", file))
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
		if _, err := Open(t.Context(), "folder:"+imagetest.PutFile(t, "x.tar.bz2", c.file), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTarFromBeforePOSIXIsRead(t *testing.T) {
	file := imagetest.Tar(t, true, imagetest.Regular("a/1.png"), imagetest.Regular("b/1.png"))
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
	if set := mustOpen(t, "folder:"+imagetest.PutFile(t, "x.tar", file)); !slices.Equal(set.Classes, []string{"a", "b"}) {
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
		set := mustOpen(t, "folder:"+imagetest.PutFile(t, "x.zip", b.Bytes()))
		if !slices.Equal(set.Classes, c.classes) || len(set.Problems)+len(set.Notices) > 0 {
			t.Errorf("%s: %q, %q, %q", name, set.Classes, set.Problems, set.Notices)
		}
	}
}

func TestEntriesThatCannotBeReadInPlaceAreListed(t *testing.T) {
	set := mustOpen(t, "folder:"+imagetest.PutFile(t, "x.tar", imagetest.Tar(t, true, imagetest.Regular("a/1.png"), imagetest.Regular("b/1.png"),
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
