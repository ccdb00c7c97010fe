package data

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/vernier-ml/vernier/data/internal/natural"
	"github.com/vernier-ml/vernier/data/internal/outline"
	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/internal/source"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
)

// EmojiPackage is an npm package of drawings.
type EmojiPackage struct {
	Name, Version string // as tried
	SHA512        string // of the archive that npm keeps, base64
	Vendor        string // whose drawings these are
	License       string // of the drawings
	Credit        string // what the licence wants said
	folder, ext   string // of the drawings
}

// Spec is what npm installs or packs: name@version.
func (p EmojiPackage) Spec() string { return p.Name + "@" + p.Version }

// Archive is how npm pack calls the package's file.
func (p EmojiPackage) Archive() string { return p.archivePrefix() + p.Version + ".tgz" }

func (p EmojiPackage) archivePrefix() string {
	return strings.ReplaceAll(strings.TrimPrefix(p.Name, "@"), "/", "-") + "-"
}

// EmojiPackages lists the packages that MakeEmoji reads. Others of their versions
// do as well, as long as they lie the same way.
func EmojiPackages() []EmojiPackage {
	return []EmojiPackage{
		{"emoji-datasource-google", "16.0.0", "ZRexfzs7MVoLnmzZmNsO4TKhnAJp5D++Vm6PpUpH/jEQQlemp3l88CjZ+DoZ2faM9R4QxZkOPJCoT8DlPhfQ3A==",
			"google", "Apache License 2.0, https://www.apache.org/licenses/LICENSE-2.0", "Noto Emoji, copyright Google", "img/google/64", ".png"},
		{"emoji-datasource-twitter", "16.0.0", "7F+uCuHH+7Qnrc15P5tnbvKkg9E6tlzi4MnT2uW1RlN4pLYTza6cP/dstIfSDMtpjFLWuZewWg8jBbuL2eyELQ==",
			"twitter", "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/", "Twemoji, copyright Twitter, Inc and other contributors", "img/twitter/64", ".png"},
		{"@lobehub/fluent-emoji-3d", "1.1.0", "Wlq2lVStTnr8BDpIJ0pEnTKO4LuDxxqTEhTvRtD1DLRF0me7ogeRQjKoehDHXuVJ2Qaecgl5wRBv60lUAG3h7g==",
			"microsoft", "MIT, https://github.com/microsoft/fluentui-emoji/blob/main/LICENSE", "Fluent Emoji, copyright Microsoft Corporation", "assets", ".webp"},
		{"openmoji", "17.0.0", "EBnYrNGdcdw+OSXmENeNE1yBNRu6tOraTmoOyUbJkTmvT/+XETp8RZLSJFzD3lrPc5N9CzsyPnRTk0Vp4UaI9w==",
			"openmoji", "CC BY-SA 4.0, https://creativecommons.org/licenses/by-sa/4.0/", "OpenMoji, the open-Tree emoji and icon project", "color/svg", ".svg"},
	}
}

// emojiVendor is a package at hand.
type emojiVendor struct {
	pkg      EmojiPackage
	src      source.Tree
	root     string            // of the package in src
	version  string            // as found
	drawings map[string]string // by emojiCode, below root
}

// openEmojiVendor finds a package below a folder.
func openEmojiVendor(w *progress.Tracker, from string, p EmojiPackage) (v emojiVendor, err error) {
	v = emojiVendor{pkg: p, drawings: map[string]string{}}
	if v.src, v.root, err = findPackage(w, from, p); err != nil {
		return v, err
	}
	defer func() {
		if err != nil {
			v.src.Close()
		}
	}()
	var manifest struct {
		Version string `json:"version"`
	}
	text, err := v.read("package.json")
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	if err != nil {
		return v, fmt.Errorf("npm package %s in %s: package.json: %w", p.Name, from, err)
	}
	v.version = manifest.Version
	l, err := v.src.List(w)
	if err != nil {
		return v, err
	}
	folder := path.Join(v.root, p.folder)
	for _, name := range natural.Sorted(l.Files) {
		if path.Dir(name) == folder && path.Ext(name) == p.ext && !source.IsJunk(name) {
			code := emojiCode(strings.TrimSuffix(path.Base(name), p.ext))
			v.drawings[code] = path.Join(p.folder, path.Base(name))
		}
	}
	if len(v.drawings) == 0 {
		return v, fmt.Errorf("npm package %s in %s, version %s: no %s files in its folder %s; version %s has them", p.Name, from, v.version, p.ext, p.folder, p.Version)
	}
	return v, nil
}

// findPackage looks where npm install and npm pack put a package.
func findPackage(w *progress.Tracker, from string, p EmojiPackage) (source.Tree, string, error) {
	for _, dir := range []string{filepath.Join(from, "node_modules", filepath.FromSlash(p.Name)), filepath.Join(from, filepath.FromSlash(p.Name))} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return source.Folder{Root: dir}, "", nil
		}
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, "", fmt.Errorf("packages: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), p.archivePrefix()) && strings.HasSuffix(e.Name(), ".tgz") {
			src, err := source.Open(w, filepath.Join(from, e.Name()))
			return src, "package", err
		}
	}
	return nil, "", fmt.Errorf("%s: npm package %s is not in it, neither in node_modules nor as %s: %w", from, p.Name, p.Archive(), fs.ErrNotExist)
}

func (v emojiVendor) read(file string) ([]byte, error) {
	return source.ReadFile(v.src, path.Join(v.root, file))
}

// draw returns a drawing over white, EmojiSide pixels wide and high.
func (v emojiVendor) draw(file string) (*pixels.RGB, error) {
	b, err := v.read(file)
	if err != nil {
		return nil, err
	}
	if v.pkg.ext == ".svg" {
		return outline.RenderSVG(b, EmojiSide)
	}
	m, err := pixels.Decode(b, pixels.Options{Alpha: pixels.AlphaWhite})
	if err != nil {
		return nil, err
	}
	m, err = transform.Stretch{W: EmojiSide, H: EmojiSide}.Apply(m, nil)
	if err != nil {
		return nil, err
	}
	return m.Compact(), nil
}

// writeEmojiLicenses writes what the licences ask for: whose drawings these are,
// the terms, and what was done to them.
func writeEmojiLicenses(dir string, vendors []emojiVendor, r *EmojiReport) error {
	folder := filepath.Join(dir, "LICENSES")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString("The pictures in the folder images are drawings of four vendors, brought to 64 x 64 pixels over white.\n\n")
	for _, v := range vendors {
		fmt.Fprintf(&text, "%s.png\n  %s\n  licence of the drawings: %s\n  from the npm package %s %s\n", v.pkg.Vendor, v.pkg.Credit, v.pkg.License, v.pkg.Name, v.version)
		r.Packages = append(r.Packages, v.pkg.Name+" "+v.version)
		for _, file := range []string{"LICENSE", "LICENSE.txt", "LICENSE.md", "README.md"} {
			b, err := v.read(file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			name := v.pkg.Vendor + "-" + file
			if err := os.WriteFile(filepath.Join(folder, name), b, 0o644); err != nil {
				return err
			}
			fmt.Fprintf(&text, "  the package says of itself: %s\n", name)
		}
		text.WriteString("\n")
	}
	text.WriteString("CC BY-SA 4.0 asks that what is made of the drawings of openmoji is passed on, if at all, under the same terms.\n")
	return os.WriteFile(filepath.Join(folder, "README.txt"), []byte(text.String()), 0o644)
}
