package data

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

// EmojiSide is the side of the pictures that MakeEmoji writes: that of the
// smallest drawings there are.
const EmojiSide = 64

// EmojiOptions say how the set is made.
type EmojiOptions struct {
	Workers  int // 0 means one a CPU
	Progress func(done, total int)
}

// EmojiReport says what MakeEmoji wrote.
type EmojiReport struct {
	Classes, Images int
	// Packages are the packages read, "name version".
	Packages []string
	// LeftOut says of every emoji that all vendors draw, but that is no class,
	// why; dir/left-out.txt holds it too.
	LeftOut []string
}

// MakeEmoji makes a set of the same emoji as four vendors draw them, from the
// npm packages that EmojiPackages lists: dir/images holds one folder an emoji,
// named by its code points and its name, with one PNG a vendor, 64 x 64 pixels
// over white; dir/LICENSES says whose drawings these are and on which terms. An
// emoji is a class if all four vendors draw it, and none draws it as it draws an
// earlier one. Skin tones are not distinguished and flags are left out, since they
// look the same everywhere.
//
// from is a folder that npm installed into, its node_modules, or one that holds
// the packages' archives as npm pack writes them. dir must not exist; it appears
// when it is complete.
func MakeEmoji(ctx context.Context, dir, from string, o EmojiOptions) (*EmojiReport, error) {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s already exists; the set is made in a new folder", dir)
	}
	var vendors []emojiVendor
	defer func() {
		for _, v := range vendors {
			v.src.Close()
		}
	}()
	for _, p := range EmojiPackages() {
		v, err := openEmojiVendor(progress.New(ctx, nil), from, p)
		if err != nil {
			return nil, err
		}
		vendors = append(vendors, v)
	}
	classes, err := emojiClasses(vendors)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	folder, err := wholefile.NewFolder(filepath.Dir(dir), filepath.Base(dir))
	if err != nil {
		return nil, err
	}
	defer folder.Remove()
	partial := folder.Path
	r := &EmojiReport{}
	if err := drawEmoji(ctx, partial, vendors, classes, r, o); err != nil {
		return nil, err
	}
	if err := writeEmojiLicenses(partial, vendors, r); err != nil {
		return nil, err
	}
	list := strings.Join(r.LeftOut, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(partial, "left-out.txt"), []byte(list), 0o644); err != nil {
		return nil, err
	}
	if err := os.Chmod(partial, 0o755); err != nil {
		return nil, err
	}
	return r, os.Rename(partial, dir)
}

// emojiClass is one emoji and its file at each vendor.
type emojiClass struct {
	code, name string
	files      []string
}

// emojiEntry is a record of emoji.json.
type emojiEntry struct {
	Name     string `json:"name"`
	Unified  string `json:"unified"`
	Short    string `json:"short_name"`
	Category string `json:"category"`
}

// emojiClasses lists the emoji that every vendor draws, those of fewer code points
// first. The first vendor's emoji.json says which emoji there are; it keeps
// skin tones apart.
func emojiClasses(vendors []emojiVendor) ([]emojiClass, error) {
	const list = "emoji.json"
	text, err := vendors[0].read(list)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", list, vendors[0].pkg.Name, err)
	}
	var entries []emojiEntry
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", list, vendors[0].pkg.Name, err)
	}
	var classes []emojiClass
	seen := map[string]bool{}
next:
	for _, e := range entries {
		code := emojiCode(e.Unified)
		if e.Category == "Flags" || e.Category == "Component" || seen[code] {
			continue
		}
		seen[code] = true
		c := emojiClass{code: code, name: emojiName(code, e.Short)}
		for _, v := range vendors {
			file, ok := v.drawings[code]
			if !ok {
				continue next
			}
			c.files = append(c.files, file)
		}
		classes = append(classes, c)
	}
	if len(classes) < 2 {
		return nil, fmt.Errorf("%d emoji are drawn by all of %d vendors; the packages hold something else than expected", len(classes), len(vendors))
	}
	slices.SortFunc(classes, func(a, b emojiClass) int { // "person" before "woman with a hat"
		return cmp.Or(len(a.code)-len(b.code), strings.Compare(a.code, b.code))
	})
	return classes, nil
}

// emojiCode is the name of an emoji without variation selectors, which vendors
// write or leave out: "1F441-FE0F" becomes "1f441".
func emojiCode(unified string) string {
	parts := strings.Split(strings.ToLower(unified), "-")
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "fe0f" }), "-")
}

// emojiName makes a folder's name.
func emojiName(code, short string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, short)
	return code + " " + clean
}

// drawEmoji writes the pictures with several workers. An emoji that one vendor's
// file does not give a picture of is left out altogether.
func drawEmoji(ctx context.Context, dir string, vendors []emojiVendor, classes []emojiClass, r *EmojiReport, o EmojiOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	faults := make([]error, len(classes))
	sums := make([][][sha256.Size]byte, len(classes))
	var next, done atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(classes) {
					return
				}
				var unwritten error
				if sums[i], faults[i], unwritten = drawClass(dir, vendors, classes[i]); unwritten != nil {
					cancel(unwritten)
					return
				}
				if n := int(done.Add(1)); o.Progress != nil {
					o.Progress(n, len(classes))
				}
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	drawn := map[[sha256.Size]byte]string{}
	for i, c := range classes {
		if faults[i] == nil {
			faults[i] = asEarlier(drawn, vendors, c, sums[i])
			if faults[i] != nil {
				if err := os.RemoveAll(filepath.Join(dir, "images", c.name)); err != nil {
					return err
				}
			}
		}
		if faults[i] != nil {
			r.LeftOut = append(r.LeftOut, c.name+": "+faults[i].Error())
			continue
		}
		r.Classes++
		r.Images += len(vendors)
	}
	return nil
}

// asEarlier says which earlier emoji looks like this one. drawn knows the
// pictures of the emoji that stay.
func asEarlier(drawn map[[sha256.Size]byte]string, vendors []emojiVendor, c emojiClass, sums [][sha256.Size]byte) error {
	for i, sum := range sums {
		if other, ok := drawn[sum]; ok {
			return fmt.Errorf("the picture of %s is that of %s", vendors[i].pkg.Vendor, other)
		}
	}
	for _, sum := range sums {
		drawn[sum] = c.name
	}
	return nil
}

// drawClass writes an emoji's folder and returns what tells its pictures apart.
// fault says why there is no picture of it; err why it cannot be written.
func drawClass(dir string, vendors []emojiVendor, c emojiClass) (sums [][sha256.Size]byte, fault, err error) {
	var pictures []*pixels.RGB
	for i, v := range vendors {
		m, err := v.draw(c.files[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.src.Name(path.Join(v.root, c.files[i])), err), nil
		}
		pictures = append(pictures, m)
		sums = append(sums, sha256.Sum256(m.Pix))
	}
	folder := filepath.Join(dir, "images", c.name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, nil, err
	}
	for i, m := range pictures {
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			return nil, nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, vendors[i].pkg.Vendor+".png"), b.Bytes(), 0o644); err != nil {
			return nil, nil, err
		}
	}
	return sums, nil, nil
}
