package data

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/plural"
)

// isImageName says which files of a folder count as images, by extension. What they hold is found out when they are decoded.
func isImageName(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".webp", ".bmp", ".dib", ".tif", ".tiff":
		return true
	}
	return false
}

// openFolder reads "folder:ROOT": every folder that directly holds images is a
// class. Its name is its path below the folder that all of them share.
func openFolder(root string, o Options) (*Set, error) {
	src, err := openSource(root)
	if err != nil {
		return nil, err
	}
	set, err := readFolder(src, root, o)
	if err != nil {
		src.close()
		return nil, err
	}
	return set, nil
}

func readFolder(src source, root string, o Options) (*Set, error) {
	files, err := src.list()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, naturalCompare)
	var images []string
	others := map[string]int{}
	for _, f := range files {
		switch {
		case isJunk(f):
		case isImageName(f):
			images = append(images, f)
		default:
			others[strings.ToLower(path.Ext(f))]++
		}
	}
	if len(images) == 0 {
		return nil, fmt.Errorf("%s: no images in it%s; wanted is one folder a class with JPEG, PNG, GIF, WebP, BMP or TIFF files", root, listOthers(others))
	}
	shared := sharedFolder(images)
	set := &Set{store: fileStore{src, o.Decode}}
	var stray []string
	classOf := func(f string) string {
		return strings.TrimPrefix(strings.TrimPrefix(path.Dir(f), shared), "/")
	}
	for _, f := range images {
		class := classOf(f)
		if class == "" || class == "." {
			stray = append(stray, f)
			continue
		}
		set.Classes = append(set.Classes, class)
		set.Items = append(set.Items, Item{Path: f})
	}
	if len(set.Items) == 0 {
		return nil, fmt.Errorf("%s: %d images, but no folders of classes: wanted is one folder a class (%s is in none)", root, len(images), images[0])
	}
	slices.SortFunc(set.Classes, naturalCompare)
	set.Classes = slices.Compact(set.Classes)
	labels := make(map[string]int, len(set.Classes))
	for i, c := range set.Classes {
		labels[c] = i
	}
	for i := range set.Items {
		set.Items[i].Label = labels[classOf(set.Items[i].Path)]
	}
	slices.SortStableFunc(set.Items, func(a, b Item) int { return a.Label - b.Label })
	if len(stray) > 0 {
		set.Notices = append(set.Notices, fmt.Sprintf("%s left out, in no class's folder, the first is %s", plural.Of(len(stray), "image"), stray[0]))
	}
	if len(others) > 0 {
		set.Notices = append(set.Notices, "files left out because their names are not those of images"+listOthers(others))
	}
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

// listOthers writes counts of extensions: " (3 .txt, 1 without extension)".
func listOthers(counts map[string]int) string {
	if len(counts) == 0 {
		return ""
	}
	var words []string
	for ext, n := range counts {
		if ext == "" {
			ext = "without extension"
		}
		words = append(words, fmt.Sprintf("%d %s", n, ext))
	}
	slices.SortFunc(words, naturalCompare)
	if len(words) > 6 {
		words = append(words[:6], "...")
	}
	return " (" + strings.Join(words, ", ") + ")"
}
