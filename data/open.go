package data

import (
	"context"
	"fmt"
	"strings"
)

// Options change how a set is read. The zero value is fine.
type Options struct {
	Decode DecodeOptions
}

// Info describes a kind of data set.
type Info struct {
	Kind    string // what a specification starts with
	Usage   string // "folder:PATH"
	Summary string
}

// opener is one kind of set.
type opener struct {
	Info
	open func(ctx context.Context, path string, o Options) (*Set, error)
}

func openers() []opener {
	return []opener{
		{Info{"glyphs", "glyphs", "built in: 666 characters drawn in the 10 upright, italic and monospaced Go fonts, 32 x 32, nothing to download"},
			func(_ context.Context, _ string, _ Options) (*Set, error) { return openGlyphs() }},
		{Info{"folder", "folder:PATH", "one folder a class with JPEG, PNG, GIF, WebP, BMP or TIFF files; PATH may be a .zip archive"},
			func(_ context.Context, path string, o Options) (*Set, error) { return openFolder(path, o) }},
	}
}

// List describes the kinds of sets that Open knows.
func List() []Info {
	var infos []Info
	for _, k := range openers() {
		infos = append(infos, k.Info)
	}
	return infos
}

// Open reads the list of images that a specification KIND or KIND:PATH names.
// Images themselves are read when they are loaded; Check reads them all.
func Open(ctx context.Context, spec string, o Options) (*Set, error) {
	kind, path, hasPath := strings.Cut(spec, ":")
	for _, k := range openers() {
		if k.Kind != kind {
			continue
		}
		if wants := k.Usage != k.Kind; wants != (hasPath && path != "") {
			return nil, fmt.Errorf("data set %q: it is written %s", spec, k.Usage)
		}
		set, err := k.open(ctx, path, o)
		if err != nil {
			return nil, fmt.Errorf("data set %s: %w", spec, err)
		}
		set.Name = spec
		return set, nil
	}
	var usages []string
	for _, k := range openers() {
		usages = append(usages, k.Usage)
	}
	return nil, fmt.Errorf("unknown data set %q; there are %s", spec, strings.Join(usages, ", "))
}
