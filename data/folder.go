package data

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/internal/source"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
)

// openFolder reads "folder:ROOT": every folder that directly holds images is a
// class. Its name is its path below the folder that all of them share, without the
// folders that name parts of the set, as in train/robin and val/robin. Images without
// any folder below ROOT make a set without labels.
func openFolder(w *progress.Tracker, root string, o Options) (*Set, error) {
	src, err := source.Open(w, root)
	if err != nil {
		return nil, err
	}
	set, err := readFolder(w, src, root, o)
	if err != nil {
		src.Close()
		return nil, err
	}
	return set, nil
}

func readFolder(w *progress.Tracker, src source.Tree, root string, o Options) (*Set, error) {
	found, err := source.ReadEntries(w, src)
	if err != nil {
		return nil, err
	}
	if len(found.Images) == 0 {
		return nil, fmt.Errorf("%s: %s; wanted is one folder a class with JPEG, PNG, GIF, WebP, BMP, TIFF or PNM files", root, found.NoImages())
	}
	set := &Set{store: fileStore{src, pixels.NewDecoder(o.Decode)}, Notices: found.Notices, Problems: found.Problems}
	shared := sharedFolder(found.Images)
	var stray, folders []string
	for _, f := range found.Images {
		folder := strings.TrimPrefix(strings.TrimPrefix(path.Dir(f), shared), "/")
		if folder == "" || folder == "." {
			stray = append(stray, f)
			continue
		}
		folders = append(folders, folder)
		set.Items = append(set.Items, Item{Path: f})
	}
	if len(set.Items) == 0 {
		set.unlabeled(stray)
		return set, nil
	}
	if len(stray) > 0 {
		set.Notices = append(set.Notices, fmt.Sprintf("%s left out, in no class's folder, the first is %s", plural.Of(len(stray), "image"), nametext.Show(stray[0])))
	}
	folders = joinParts(set, folders)
	set.classify(folders, nil)
	for _, text := range []string{repeatedNames(set.Classes), partsInNames(set.Classes)} {
		if text != "" {
			set.Problems = append(set.Problems, text)
		}
	}
	slices.SortStableFunc(set.Items, func(a, b Item) int { return a.Label - b.Label })
	return set, nil
}

// sharedFolder is the deepest folder above all class folders. A single class
// keeps its own name; images directly under the root are in no class anyway.
func sharedFolder(images []string) string {
	images = slices.DeleteFunc(slices.Clone(images), func(f string) bool { return !strings.Contains(f, "/") })
	if len(images) == 0 {
		return ""
	}
	shared, single := path.Dir(images[0]), true
	for _, f := range images[1:] {
		dir := path.Dir(f)
		single = single && dir == shared
		for shared != "." && dir != shared && !strings.HasPrefix(dir, shared+"/") {
			if shared == "/" {
				return ""
			}
			shared = path.Dir(shared)
		}
	}
	if single {
		shared = path.Dir(shared)
	}
	if shared == "." {
		return ""
	}
	return shared
}
