package data

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/internal/source"
)

// openInShop reads In-shop Clothes Retrieval of DeepFashion: the list
// list_eval_partition.txt and the images below img/.
func openInShop(w *progress.Tracker, root string, o Options) (*Set, error) {
	const list = "list_eval_partition.txt"
	return openSet(w, root, o, func(src source.Tree, set *Set) error {
		dir, ok := findRoot(w, src, list, "Eval", "Anno", "In-shop Clothes Retrieval Benchmark", "In-shop Clothes Retrieval Benchmark/Eval")
		if !ok {
			return fmt.Errorf("%s: no %s in it, in Eval or in Anno", root, list)
		}
		var keys []string
		base, based := "", false
		err := readLines(src, path.Join(dir, list), 1, func(f []string) error {
			fields, err := inShopFields(f[0])
			if err != nil || fields == nil {
				return err
			}
			if !based {
				base, based = inShopBase(src, dir, fields[0]), true
			}
			it := Item{Path: path.Join(base, fields[0])}
			switch fields[2] {
			case "train":
				it.Part = TrainPart
			case "query":
				it.Part, it.Role = TestPart, QueryRole
			case "gallery":
				it.Part, it.Role = TestPart, GalleryRole
			default:
				return fmt.Errorf("status %q, want train, query or gallery", fields[2])
			}
			keys = append(keys, fields[1])
			set.Items = append(set.Items, it)
			return nil
		})
		if err != nil {
			return err
		}
		set.classify(keys, nil)
		set.Published = &Published{TrainImages: 25882, TestImages: 26830, TrainClasses: 3997, TestClasses: 3985, Query: 14218, Gallery: 12612}
		return nil
	})
}

// inShopFields splits a line into image, item and status; nil for the two
// lines of the head (a count and the column names). Names may hold spaces.
func inShopFields(line string) ([]string, error) {
	var fields []string
	rest := line
	for range 2 {
		at := strings.LastIndexAny(rest, " \t")
		if at < 0 {
			break
		}
		fields = append([]string{rest[at+1:]}, fields...)
		rest = strings.TrimRight(rest[:at], " \t")
	}
	fields = append([]string{rest}, fields...)
	if _, err := strconv.Atoi(line); err == nil || fields[0] == "image_name" {
		return nil, nil
	}
	if len(fields) != 3 {
		return nil, errors.New("want image, item and status")
	}
	return fields, nil
}

// inShopBase finds the folder that image paths "img/..." are relative to.
func inShopBase(src source.Tree, dir, first string) string {
	up := path.Dir(path.Join("/", dir))[1:]
	for _, base := range []string{dir, up, path.Join(up, "Img"), path.Join(dir, "Img")} {
		if _, err := src.Stamp(path.Join(base, first)); err == nil {
			return base
		}
	}
	return up
}
