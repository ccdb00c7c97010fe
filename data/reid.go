package data

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/vernier-ml/vernier/data/internal/natural"
	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/internal/source"
	"github.com/vernier-ml/vernier/internal/plural"
)

// reidFolder is a folder of a set for re-identification, with files beside it that a set
// may have.
type reidFolder struct {
	name   string
	list   string // of the names of its images
	labels string // XML of identities and cameras
	part   Part
	role   Role
}

// openMarket1501 reads Market-1501 (Zheng et al. 2015), and sets in its form.
func openMarket1501(w *progress.Tracker, root string, o Options) (*Set, error) {
	return openReID(w, root, o, []reidFolder{
		{name: "bounding_box_train", part: TrainPart},
		{name: "bounding_box_test", part: TestPart, role: GalleryRole},
		{name: "query", part: TestPart, role: QueryRole},
	})
}

// openVeRi reads VeRi-776 (Liu et al. 2016). Of its folders count the images that its
// lists name; its tables of labels say what their names say.
func openVeRi(w *progress.Tracker, root string, o Options) (*Set, error) {
	return openReID(w, root, o, []reidFolder{
		{"image_train", "name_train.txt", "train_label.xml", TrainPart, AnyRole},
		{"image_test", "name_test.txt", "test_label.xml", TestPart, GalleryRole},
		{"image_query", "name_query.txt", "test_label.xml", TestPart, QueryRole},
	})
}

// reidName begins a file's name: the identity and the camera, as in
// 0002_c1s1_000451_03.jpg and 0001_c001_00016450_0.jpg.
var reidName = regexp.MustCompile(`^(-1|\d+)_c(\d+)`)

// reidLabel is what an image shows, and the camera that took it.
type reidLabel struct{ identity, camera string }

// openReID reads identity and camera from the names of files, or from tables where these
// have them. Identity -1 is junk, which is left out; 0000, of Market-1501's gallery, are
// distractors: a class without queries.
func openReID(w *progress.Tracker, root string, o Options, folders []reidFolder) (*Set, error) {
	return openSet(w, root, o, func(src source.Tree, set *Set) error {
		l, err := src.List(w)
		if err != nil {
			return err
		}
		var keys []string
		junk := 0
		cameras := groupNumbers{}
		found := map[string]int{}
		beside := map[string]*reidBeside{} // by folder of images
		for _, name := range natural.Sorted(l.Files) {
			dir := path.Dir(name)
			at := slices.IndexFunc(folders, func(f reidFolder) bool { return f.name == path.Base(dir) })
			if ext := strings.ToLower(path.Ext(name)); at < 0 || source.IsJunk(name) || ext != ".jpg" && ext != ".jpeg" && ext != ".png" {
				continue
			}
			f := folders[at]
			if beside[dir] == nil {
				if beside[dir], err = f.beside(src, dir); err != nil {
					return err
				}
			}
			if !beside[dir].take(path.Base(name)) {
				continue
			}
			label, err := beside[dir].label(path.Base(name))
			if err != nil {
				return fmt.Errorf("%s: %w", src.Name(name), err)
			}
			if label.identity == "-1" {
				junk++
				continue
			}
			found[f.name]++
			keys = append(keys, label.identity)
			set.Items = append(set.Items, Item{Path: name, Part: f.part, Role: f.role, Group: cameras.of(label.camera)})
		}
		for _, f := range folders {
			if found[f.name] == 0 {
				for dir, b := range beside {
					if b.extra > 0 && path.Base(dir) == f.name {
						return fmt.Errorf("%s: %s names none of the images of %s", root, b.list, f.name)
					}
				}
				return fmt.Errorf("%s: there are no images in a folder %s; wanted are %s, %s and %s as unpacked", root, f.name, folders[0].name, folders[1].name, folders[2].name)
			}
		}
		for _, dir := range slices.Sorted(maps.Keys(beside)) {
			beside[dir].remark(set, path.Base(dir))
		}
		if junk > 0 {
			set.Notices = append(set.Notices, fmt.Sprintf("left out %s with identity -1, which count neither as right nor as wrong", plural.Of(junk, "image")))
		}
		set.classify(keys, nil)
		return nil
	})
}

// reidBeside is what files beside a folder of images say of it.
type reidBeside struct {
	list   string
	named  map[string]bool // images of the list, true once they are found; nil without a list
	extra  int             // images that it does not name
	table  string
	labels map[string]reidLabel
}

// beside reads the list and the table of a folder, where there are any.
func (f reidFolder) beside(src source.Tree, dir string) (*reidBeside, error) {
	b := &reidBeside{}
	file := func(name string) (string, bool) {
		at := path.Join(path.Dir(dir), name)
		_, err := src.Stamp(at)
		return at, name != "" && err == nil
	}
	if at, ok := file(f.list); ok {
		b.list, b.named = f.list, map[string]bool{}
		err := readLines(src, at, 1, func(fields []string) error {
			b.named[path.Base(strings.Fields(fields[0])[0])] = false // some add labels behind it
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if at, ok := file(f.labels); ok {
		text, err := source.ReadFile(src, at)
		if err == nil {
			err = checkList(text)
		}
		if err == nil {
			b.table = f.labels
			b.labels, err = readVeRiLabels(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", src.Name(at), err)
		}
	}
	return b, nil
}

// take reports whether the list names an image.
func (b *reidBeside) take(image string) bool {
	if b.named == nil {
		return true
	}
	if _, ok := b.named[image]; !ok {
		b.extra++
		return false
	}
	b.named[image] = true
	return true
}

// label is that of the table or, where it does not have the image, of its name.
func (b *reidBeside) label(image string) (reidLabel, error) {
	inTable, ok := b.labels[image]
	m := reidName.FindStringSubmatch(image)
	switch {
	case ok && m != nil && inTable != reidLabel{m[1], m[2]}:
		return reidLabel{}, fmt.Errorf("%s says identity %s by camera %s, the name of the file another", b.table, inTable.identity, inTable.camera)
	case ok:
		return inTable, nil
	case m == nil:
		return reidLabel{}, errors.New("the name of the file tells no identity and camera: want it to begin as 0002_c1 does")
	}
	return reidLabel{m[1], m[2]}, nil
}

// remark says in what a folder and its list differ.
func (b *reidBeside) remark(set *Set, folder string) {
	if b.extra > 0 {
		set.Notices = append(set.Notices, fmt.Sprintf("left out %s of %s that %s does not name", plural.Of(b.extra, "image"), folder, b.list))
	}
	var gone []string
	for name, there := range b.named {
		if !there {
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		set.Problems = append(set.Problems, fmt.Sprintf("%s names %s that %s does not have, such as %s", b.list, plural.Of(len(gone), "image"), folder, slices.Min(gone)))
	}
}

// readVeRiLabels reads train_label.xml or test_label.xml: elements Item with the attributes
// imageName, vehicleID and cameraID; others are passed over. The published files are said
// to be in GB 2312.
func readVeRiLabels(text []byte) (map[string]reidLabel, error) {
	var table struct {
		Items []struct {
			Image   string `xml:"imageName,attr"`
			Vehicle string `xml:"vehicleID,attr"`
			Camera  string `xml:"cameraID,attr"`
		} `xml:"Items>Item"`
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(label string, r io.Reader) (io.Reader, error) {
		enc, err := htmlindex.Get(label)
		if err != nil {
			return nil, fmt.Errorf("the encoding %q is not known", label)
		}
		return enc.NewDecoder().Reader(r), nil
	}
	if err := d.Decode(&table); err != nil {
		return nil, err
	}
	labels := make(map[string]reidLabel, len(table.Items))
	for i, it := range table.Items {
		label := reidLabel{it.Vehicle, strings.TrimPrefix(it.Camera, "c")}
		if it.Image == "" || label.identity == "" || label.camera == "" {
			return nil, fmt.Errorf("item %d of %d lacks imageName, vehicleID or cameraID", i+1, len(table.Items))
		}
		labels[it.Image] = label
	}
	if len(labels) == 0 {
		return nil, errors.New("there is no element Item in Items: want imageName, vehicleID and cameraID of each image")
	}
	return labels, nil
}
