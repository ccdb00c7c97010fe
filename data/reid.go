package data

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/vernier-ml/vernier/data/internal/natural"
	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/internal/source"
	"github.com/vernier-ml/vernier/internal/plural"
)

// reidFolders are the folders of a set for re-identification.
type reidFolders struct{ train, gallery, query string }

// openMarket1501 reads Market-1501 (Zheng et al. 2015), and sets in its form.
func openMarket1501(w *progress.Tracker, root string, o Options) (*Set, error) {
	return openReID(w, root, o, reidFolders{"bounding_box_train", "bounding_box_test", "query"})
}

// openVeRi reads VeRi-776 (Liu et al. 2016).
func openVeRi(w *progress.Tracker, root string, o Options) (*Set, error) {
	return openReID(w, root, o, reidFolders{"image_train", "image_test", "image_query"})
}

// reidName begins a file's name: the identity and the camera, as in
// 0002_c1s1_000451_03.jpg and 0001_c001_00016450_0.jpg.
var reidName = regexp.MustCompile(`^(-1|\d+)_c(\d+)`)

// openReID reads identity and camera from the names of files. Identity -1 is junk, which
// is left out; 0000, of Market-1501's gallery, are distractors: a class without queries.
func openReID(w *progress.Tracker, root string, o Options, folders reidFolders) (*Set, error) {
	return openSet(w, root, o, func(src source.Tree, set *Set) error {
		l, err := src.List(w)
		if err != nil {
			return err
		}
		var keys []string
		junk := 0
		cameras := groupNumbers{}
		found := map[string]int{}
		for _, name := range natural.Sorted(l.Files) {
			it := Item{Path: name}
			folder := path.Base(path.Dir(name))
			switch folder {
			case folders.train:
				it.Part = TrainPart
			case folders.gallery:
				it.Part, it.Role = TestPart, GalleryRole
			case folders.query:
				it.Part, it.Role = TestPart, QueryRole
			default:
				continue
			}
			if ext := strings.ToLower(path.Ext(name)); source.IsJunk(name) || ext != ".jpg" && ext != ".jpeg" && ext != ".png" {
				continue
			}
			m := reidName.FindStringSubmatch(path.Base(name))
			if m == nil {
				return fmt.Errorf("%s: the name of the file tells no identity and camera: want it to begin as 0002_c1 does", src.Name(name))
			}
			if m[1] == "-1" {
				junk++
				continue
			}
			it.Group = cameras.of(m[2])
			found[folder]++
			keys = append(keys, m[1])
			set.Items = append(set.Items, it)
		}
		for _, f := range []string{folders.train, folders.gallery, folders.query} {
			if found[f] == 0 {
				return fmt.Errorf("%s: there are no images in a folder %s; wanted are %s, %s and %s as unpacked", root, f, folders.train, folders.gallery, folders.query)
			}
		}
		if junk > 0 {
			set.Notices = append(set.Notices, fmt.Sprintf("left out %s with identity -1, which count neither as right nor as wrong", plural.Of(junk, "image")))
		}
		set.classify(keys, nil)
		return nil
	})
}
