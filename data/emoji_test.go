package data

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"image/color"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

// emojiPackages is a miniature of the four packages: a smile, an eye whose name
// has a variation selector in some, a man and a woman whom one vendor draws alike,
// a flag, and an emoji that one vendor lacks.
func emojiPackages(t testing.TB) map[string]files {
	type pictures map[string]uint64
	dot := func(seed uint64) string {
		return fmt.Sprintf(`<svg viewBox="0 0 72 72"><circle cx="36" cy="36" r="%d"/></svg>`, 10+seed)
	}
	record := func(unified, short, category string) string {
		return fmt.Sprintf(`{"name":"X","unified":%q,"short_name":%q,"category":%q}`, unified, short, category)
	}
	list := "[" + strings.Join([]string{
		record("1F600", "smile", "Smileys"), record("1F441-FE0F", "eye", "People"), record("1F468", "man's", "People"), record("1F469", "woman", "People"),
		record("1F1E9-1F1EA", "de", "Flags"), record("1FAE9", "new", "Smileys"), record("1F3FB", "skin", "Component"),
	}, ",") + "]"
	manifest := []byte(`{"version":"1.2.3"}`)
	all := map[string]files{}
	for k, p := range EmojiPackages() {
		f := files{"package.json": manifest, "LICENSE": []byte("terms of " + p.Vendor), "emoji.json": []byte(list), p.folder + "/readme.txt": nil}
		for code, seed := range (pictures{"1f600": 1, "1f441": 2, "1f468": 3, "1f469": 4, "1f1e9-1f1ea": 5, "1fae9": 6, "1f3fb": 7}) {
			if k == 1 && code == "1f469" {
				seed = 3 // as the man
			}
			if k == 2 && code == "1fae9" {
				continue
			}
			if code == "1f441" && k != 2 {
				code += "-fe0f"
			}
			name := p.folder + "/" + code + p.ext
			switch p.ext {
			case ".svg":
				f[p.folder+"/"+strings.ToUpper(code)+p.ext] = []byte(dot(seed))
			case ".webp":
				f[name] = imagetest.EncodeWebP(9, 9, color.NRGBA{uint8(40 * seed), 0, 0, 128})
			default:
				f[name] = imagetest.EncodePNG(t, picture(64, 64, 10*seed+uint64(k)))
			}
		}
		all[p.Name] = f
	}
	return all
}

// installed writes packages as npm install does.
func installed(t testing.TB, packages map[string]files) string {
	all := files{}
	for name, f := range packages {
		for file, b := range f {
			all["node_modules/"+name+"/"+file] = b
		}
	}
	return all.folder(t)
}

// packed writes packages as npm pack does.
func packed(t testing.TB, packages map[string]files) string {
	all := files{}
	for _, p := range EmojiPackages() {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for name, content := range packages[p.Name] {
			if err := w.WriteHeader(&tar.Header{Name: "package/" + name, Size: int64(len(content)), Mode: 0o644}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(content); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), z.Close()); err != nil {
			t.Fatal(err)
		}
		all[p.Archive()] = b.Bytes()
	}
	return all.folder(t)
}

func TestEmojiOfFourVendorsBecomeClasses(t *testing.T) {
	packages := emojiPackages(t)
	for name, from := range map[string]string{
		"npm install": installed(t, packages), "node_modules": filepath.Join(installed(t, packages), "node_modules"), "npm pack": packed(t, packages),
	} {
		dir := filepath.Join(t.TempDir(), "new", "emoji")
		r, err := MakeEmoji(t.Context(), dir, from, EmojiOptions{Workers: 2})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Classes != 3 || r.Images != 12 || len(r.LeftOut) != 1 || !strings.Contains(r.LeftOut[0], "1f469 woman: the picture of twitter is that of 1f468 man_s") {
			t.Errorf("%s: %+v", name, r)
		}
		set := mustOpen(t, "folder:"+filepath.Join(dir, "images"))
		if want := []string{"1f441 eye", "1f468 man_s", "1f600 smile"}; !slices.Equal(set.Classes, want) || len(set.Notices) != 0 {
			t.Errorf("%s: classes %q, notices %q", name, set.Classes, set.Notices)
		}
		if c, err := CheckSet(t.Context(), set, CheckOptions{}); err != nil || len(c.Bad) > 0 || c.MinWidth != EmojiSide || c.MaxHeight != EmojiSide {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
		m, err := set.Load(t.Context(), slices.IndexFunc(set.Items, func(it Item) bool { return it.Path == "1f600 smile/microsoft.png" }))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.At(5, 5) != (color.RGBA{147, 127, 127, 255}) {
			t.Errorf("%s: transparency is not over white: %v", name, m.At(5, 5))
		}
		for _, p := range EmojiPackages() {
			if b, err := os.ReadFile(filepath.Join(dir, "LICENSES", p.Vendor+"-LICENSE")); err != nil || string(b) != "terms of "+p.Vendor {
				t.Errorf("%s: %s, %v", name, b, err)
			}
			if b, err := os.ReadFile(filepath.Join(dir, "LICENSES", "README.txt")); err != nil || !strings.Contains(string(b), p.License) || !strings.Contains(string(b), p.Name+" 1.2.3") {
				t.Errorf("%s: %s, %v", name, b, err)
			}
		}
		if _, err := MakeEmoji(t.Context(), dir, from, EmojiOptions{}); err == nil || !strings.Contains(err.Error(), "already exists") {
			t.Errorf("%s: made over an older set: %v", name, err)
		}
	}
}

func TestEmojiWithoutAPictureAreLeftOutAndListed(t *testing.T) {
	packages := emojiPackages(t)
	packages["openmoji"]["color/svg/1F600.svg"] = []byte(`<svg viewBox="0 0 1 1"><text/></svg>`)
	dir := filepath.Join(t.TempDir(), "emoji")
	r, err := MakeEmoji(t.Context(), dir, installed(t, packages), EmojiOptions{})
	if err != nil || r.Classes != 2 || len(r.LeftOut) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	list, err := os.ReadFile(filepath.Join(dir, "left-out.txt"))
	if err != nil || !strings.Contains(string(list), "1F600.svg: SVG <text>") {
		t.Errorf("%s, %v", list, err)
	}
}

func TestMissingEmojiPackagesAreNamedAndNothingIsLeftBehind(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		plant func(map[string]files)
		want  string
	}{
		"package":    {t.Context(), func(p map[string]files) { delete(p, "openmoji") }, "openmoji is not in it"},
		"drawings":   {t.Context(), func(p map[string]files) { p["openmoji"] = files{"package.json": []byte(`{"version":"2"}`)} }, "no .svg files in its folder color/svg"},
		"manifest":   {t.Context(), func(p map[string]files) { delete(p["openmoji"], "package.json") }, "package.json"},
		"list":       {t.Context(), func(p map[string]files) { p["emoji-datasource-google"]["emoji.json"] = []byte("[") }, "emoji.json of emoji-datasource-google"},
		"nothing":    {t.Context(), func(p map[string]files) { p["emoji-datasource-google"]["emoji.json"] = []byte("[]") }, "0 emoji"},
		"everything": {t.Context(), func(p map[string]files) { clear(p) }, "is not in it"},
		"time":       {canceled, func(map[string]files) {}, context.Canceled.Error()},
	} {
		packages := emojiPackages(t)
		c.plant(packages)
		parent := t.TempDir()
		_, err := MakeEmoji(c.ctx, filepath.Join(parent, "emoji"), installed(t, packages), EmojiOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if left, _ := os.ReadDir(parent); len(left) != 0 {
			t.Errorf("%s: %v are left behind", name, left)
		}
	}
	if _, err := MakeEmoji(t.Context(), filepath.Join(t.TempDir(), "x"), filepath.Join(t.TempDir(), "none"), EmojiOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}
