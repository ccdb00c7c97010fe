package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/home"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/nearest"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/registry"
)

// Options change how a set is read. The zero value is fine.
type Options struct {
	Decode pixels.Options
	// Progress, if not nil, is called now and then while a folder is listed, an archive
	// unpacked or a table's images are looked for: with what is done, how far that is,
	// and the total, which is 0 as long as it is not known.
	Progress func(what string, done, total int)
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
	open func(w *progress.Tracker, path string, o Options) (*Set, error)
}

func openers() []opener {
	return []opener{
		{Info{"glyphs", "glyphs", "built in: 666 characters drawn in the 10 upright, italic and monospaced Go fonts, 32 x 32, nothing to download"},
			func(*progress.Tracker, string, Options) (*Set, error) { return openGlyphs() }},
		{Info{"folder", "folder:PATH", "one folder a class with JPEG, PNG, GIF, WebP, BMP, TIFF or PNM files; PATH may be a .zip, .tar, .tgz or .tar.bz2 archive"},
			openFolder},
		{Info{"csv", "csv:FILE", "a table with the columns path, label and optionally split, is_query, is_gallery, category, group, x1, y1, x2, y2"}, openCSV},
		{Info{"cub200", "cub200:PATH", "Caltech-UCSD Birds-200-2011 as unpacked, split by class 1-100 / 101-200"}, openCUB},
		{Info{"cars196", "cars196:PATH", "Stanford Cars: car_ims with cars_annos.mat, cars_train and cars_test with devkit, or a folder a class; split 1-98 / 99-196"}, openCars},
		{Info{"sop", "sop:PATH", "Stanford Online Products as unpacked, split by its lists"}, openSOP},
		{Info{"inshop", "inshop:PATH", "In-shop Clothes Retrieval (DeepFashion), with queries and gallery"}, openInShop},
		{Info{"market1501", "market1501:PATH", "Market-1501, and sets in its form: persons by camera, with queries, gallery and distractors"}, openMarket1501},
		{Info{"veri", "veri:PATH", "VeRi-776: vehicles by camera, with queries and gallery"}, openVeRi},
		{Info{"features", "features:PATH", "rows of numbers that another network made, as .npy, .npz, .safetensors, .parquet or a text table, with their classes inside or in a file behind a comma: features:x.npy,labels=y.npy"},
			openFeatureSet},
		{Info{"mnist", "mnist:PATH", "the IDX files of MNIST, Fashion-MNIST or KMNIST, plain or gzipped"}, openMNIST},
	}
}

// allOpeners adds the kinds that Register made known.
func allOpeners() []opener {
	all := openers()
	for _, kind := range ownKinds.Names() {
		open, _ := ownKinds.Get(kind)
		all = append(all, opener{Info{kind, kind + ":PATH", "registered by this program; PATH may be left out"},
			func(_ *progress.Tracker, path string, o Options) (*Set, error) { return open(path, o) }})
	}
	return all
}

// List describes the kinds of sets that Open knows.
func List() []Info {
	var infos []Info
	for _, k := range allOpeners() {
		infos = append(infos, k.Info)
	}
	return infos
}

// Open reads the list of images that a specification KIND or KIND:PATH names. A PATH that
// begins with ~/ lies in the user's home folder.
// Images themselves are read when they are loaded; Check reads them all.
func Open(ctx context.Context, spec string, o Options) (*Set, error) {
	kind, path, hasPath := strings.Cut(spec, ":")
	for _, k := range allOpeners() {
		if k.Kind != kind {
			continue
		}
		_, own := ownKinds.Get(kind)
		if wants := k.Usage != k.Kind; wants != (hasPath && path != "") && !(own && !hasPath) {
			return nil, &SpecError{fmt.Sprintf("data set %q: it is written %s", spec, k.Usage)}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		set, err := k.open(progress.New(ctx, o.Progress), onDisk(home.Expand(path)), o)
		if err == nil {
			err = set.check()
		}
		if err != nil {
			return nil, fmt.Errorf("data set %s: %w", spec, err)
		}
		set.Name = nametext.Valid(spec)
		set.noteNames()
		if fault := set.countFault(); fault != "" {
			set.Problems = append(set.Problems, fault)
		}
		return set, nil
	}
	return nil, unknownKind(spec, kind, hasPath)
}

// SpecError says that a specification is not written as one.
type SpecError struct{ why string }

func (e *SpecError) Error() string { return e.why }

// unknownKind says what may have been meant by a specification.
func unknownKind(spec, kind string, hasPath bool) error {
	var kinds, usages []string
	for _, k := range allOpeners() {
		kinds, usages = append(kinds, k.Kind), append(usages, k.Usage)
	}
	why := fmt.Sprintf("unknown data set %q", spec)
	near, found := nearest.Of(kind, kinds)
	_, missing := os.Stat(spec)
	switch {
	case missing == nil:
		why += "; did you mean folder:" + spec + "?"
	case found && hasPath:
		why += "; did you mean " + near + strings.TrimPrefix(spec, kind) + "?"
	case found:
		why += "; did you mean " + near + "?"
	}
	return &SpecError{why + " (there are " + strings.Join(usages, ", ") + ")"}
}

// ownKinds holds the kinds of data sets of a program's own.
var ownKinds registry.Table[func(path string, o Options) (*Set, error)]

// Register makes a kind of data sets of a program's own known: Open then takes the
// specifications "kind" and "kind:PATH", and calls open with PATH, or "", and its own
// options; open most likely ends with NewSet. A program that resumes a run
// registers the kind again before it does so.
//
// Names have lower-case letters, digits and hyphens. Register panics where the name is
// malformed or taken, or open is nil.
func Register(kind string, open func(path string, o Options) (*Set, error)) {
	if open == nil {
		panic(fmt.Sprintf("data.Register: the function that opens %q is nil", kind))
	}
	var own []string
	for _, k := range openers() {
		own = append(own, k.Kind)
	}
	ownKinds.Add("data.Register", kind, open, own)
}

// onDisk is the path that a specification means: as it is written or, if nothing is
// there, the one that it is the text of.
func onDisk(path string) string {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if raw := nametext.Decode(path); raw != path {
			if _, err := os.Lstat(raw); err == nil {
				return raw
			}
		}
	}
	return path
}

// noteNames says that names are written with the bytes that they are not text for.
func (s *Set) noteNames() {
	n, first := 0, ""
	for _, it := range s.Items {
		if nametext.IsEncoded(it.Path) {
			if n++; n == 1 {
				first = it.Path
			}
		}
	}
	if n > 0 {
		first = nametext.Show(first)
		s.Notices = append(s.Notices, fmt.Sprintf(`%s not UTF-8: wherever names are written they have \xNN for a byte NN and \\ for a backslash, and are found again by that; the first is %s`,
			plural.Of(n, "path"), first))
	}
}
