package data

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/data/internal/natural"
	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/internal/source"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
)

// Published holds the sizes that a public set is known by.
type Published struct {
	TrainImages  int `json:"train_images"`
	TestImages   int `json:"test_images"`
	TrainClasses int `json:"train_classes"`
	TestClasses  int `json:"test_classes"`
	// Of the test images, 0 if all are both.
	Query   int `json:"queries,omitempty"`
	Gallery int `json:"gallery,omitempty"`
}

// findRoot returns the folder of src that holds the file marker: the root, one
// of the usual names, or wherever it is.
func findRoot(w *progress.Tracker, src source.Tree, marker string, usual ...string) (string, bool) {
	for _, dir := range append([]string{""}, usual...) {
		if _, err := src.Stamp(path.Join(dir, marker)); err == nil {
			return dir, true
		}
	}
	l, err := src.List(w)
	if err != nil {
		return "", false
	}
	for _, name := range natural.Sorted(l.Files) {
		if strings.HasSuffix("/"+name, "/"+marker) && !source.IsJunk(name) {
			return strings.TrimSuffix(strings.TrimSuffix(name, marker), "/"), true
		}
	}
	return "", false
}

// checkList refuses a list or table in whose place a download or a clone left something
// else.
func checkList(file []byte) error {
	what := pixels.StandIn(file)
	if what == "" {
		return nil
	}
	return errors.New(strings.NewReplacer("the image", "the list", "; take pictures out of it", "").Replace("not the list that it is named for: " + what))
}

// readLines calls do with the fields of every line of a list file that is not
// blank. The last of n fields takes the rest of the line, spaces included.
func readLines(src source.Tree, name string, n int, do func(fields []string) error) error {
	text, err := source.ReadFile(src, name)
	if err == nil {
		err = checkList(text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", src.Name(name), err)
	}
	for number, line := range textLines(text) {
		rest := strings.TrimSpace(line)
		if rest == "" {
			continue
		}
		fields := make([]string, 0, n)
		for len(fields) < n-1 && rest != "" {
			at := strings.IndexAny(rest, " \t")
			if at < 0 {
				break
			}
			fields = append(fields, rest[:at])
			rest = strings.TrimLeft(rest[at:], " \t")
		}
		fields = append(fields, rest)
		if len(fields) != n {
			return fmt.Errorf("%s line %d: %s, want %d: %q", src.Name(name), number, plural.Of(len(fields), "field"), n, line)
		}
		if err := do(fields); err != nil {
			return fmt.Errorf("%s line %d: %w", src.Name(name), number, err)
		}
	}
	return nil
}

// classify numbers the classes: keys holds one key an item, and labels follow
// the natural order of the keys. name, if not nil, turns a key into a name.
func (s *Set) classify(keys []string, name func(key string) string) {
	labels := map[string]int{}
	for _, k := range keys {
		labels[k] = 0
	}
	order := slices.SortedFunc(maps.Keys(labels), natural.Compare)
	s.Classes = make([]string, len(order))
	for i, k := range order {
		labels[k] = i
		s.Classes[i] = nametext.Valid(k)
		if name != nil {
			s.Classes[i] = name(k)
		}
	}
	for i, k := range keys {
		s.Items[i].Label = labels[k]
	}
}

// counts are the sizes as found.
func (s *Set) counts() Published {
	var p Published
	side := make([]Part, len(s.Classes))
	for _, it := range s.Items {
		if it.Part == TrainPart {
			p.TrainImages++
		} else {
			p.TestImages++
		}
		switch it.Role {
		case QueryRole:
			p.Query++
		case GalleryRole:
			p.Gallery++
		}
		if side[it.Label] == NoPart {
			side[it.Label] = it.Part
			if it.Part == TrainPart {
				p.TrainClasses++
			} else {
				p.TestClasses++
			}
		}
	}
	return p
}

// countFault says in which counts the set differs from the published ones, ""
// if in none.
func (s *Set) countFault() string {
	if s.Published == nil {
		return ""
	}
	got, want := s.counts(), *s.Published
	var faults []string
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"training images", got.TrainImages, want.TrainImages}, {"test images", got.TestImages, want.TestImages},
		{"training classes", got.TrainClasses, want.TrainClasses}, {"test classes", got.TestClasses, want.TestClasses},
		{"queries", got.Query, want.Query}, {"gallery images", got.Gallery, want.Gallery},
	} {
		if c.got != c.want {
			faults = append(faults, fmt.Sprintf("%d %s instead of %d", c.got, c.what, c.want))
		}
	}
	if faults == nil {
		return ""
	}
	return "this is not the published set: " + strings.Join(faults, ", ")
}

// openSet opens the Tree of a set and closes it again if read fails.
func openSet(w *progress.Tracker, root string, o Options, read func(src source.Tree, set *Set) error) (*Set, error) {
	src, err := source.Open(w, root)
	if err != nil {
		return nil, err
	}
	set := &Set{store: fileStore{src, pixels.NewDecoder(o.Decode)}}
	if err := read(src, set); err != nil {
		src.Close()
		return nil, err
	}
	if len(set.Items) == 0 {
		src.Close()
		return nil, fmt.Errorf("%s: its lists name no images", root)
	}
	return set, nil
}

// textLines yields the lines of a text with their numbers from 1, without byte
// order mark and Windows line ends.
func textLines(text []byte) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		s := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
		s.Buffer(nil, len(text)+1)
		for n := 1; s.Scan(); n++ { // ScanLines drops a trailing \r
			if !yield(n, s.Text()) {
				return
			}
		}
	}
}
