package data

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"image"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
)

// CheckOptions say how a set is examined.
type CheckOptions struct {
	Options
	// Split says which classes are for training; nil means AutoSplit.
	Split   *SplitSpec
	Workers int // 0 means one a CPU
	// Progress, if not nil, is called now and then with the number of images
	// decoded, from several goroutines.
	Progress func(done, total int)
}

// Report is what Check found.
type Report struct {
	Set     string `json:"set"`
	Images  int    `json:"images"`
	Classes int    `json:"classes"`
	// Published holds the counts that the set is known by, Found what they are
	// here; both nil of other sets.
	Published *Published `json:"published,omitempty"`
	Found     *Published `json:"found,omitempty"`
	// SharedClasses says that the set's own split divides the images of every
	// class and not the classes, so that it is not used.
	SharedClasses bool `json:"shared_classes"`
	// Split says which one TrainImages.. count; "" if there is none.
	Split        string       `json:"split"`
	TrainImages  int          `json:"train_images"`
	TestImages   int          `json:"test_images"`
	TrainClasses int          `json:"train_classes"`
	TestClasses  int          `json:"test_classes"`
	Histogram    []ClassCount `json:"histogram"` // by label
	// Single lists the classes with one image: nothing can be retrieved for it.
	Single     []string    `json:"single_image_classes"`
	Bad        []BadImage  `json:"bad"`
	Duplicates []Duplicate `json:"duplicates"`
	// Beyond lists the images whose boxes reach over their edges.
	Beyond []BadImage `json:"boxes_beyond_the_picture,omitempty"`
	// Smallest and largest width and height of the readable images.
	MinWidth  int `json:"min_width"`
	MaxWidth  int `json:"max_width"`
	MinHeight int `json:"min_height"`
	MaxHeight int `json:"max_height"`
	// Problems make figures wrong or runs fail; Warnings are good to know.
	Problems []string `json:"problems"`
	Warnings []string `json:"warnings"`
}

// ClassCount is a bar of the histogram.
type ClassCount struct {
	Class  string `json:"class"`
	Part   string `json:"part"` // "train", "test" or both sides' ""
	Images int    `json:"images"`
}

// Duplicate is a group of images with the same pixels.
type Duplicate struct {
	Paths   []string `json:"paths"`
	Classes []string `json:"classes"` // of each path
	// Across is "class" if all lie in one class, "classes" if not, "splits" if
	// some are for training and some for testing.
	Across string `json:"across"`
}

// OK reports whether nothing is wrong.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// Check opens a set and decodes every image of it. What is wrong with the set is
// in the report; the error is for a set that cannot be opened, and for ctx.
func Check(ctx context.Context, spec string, o CheckOptions) (*Report, error) {
	set, err := Open(ctx, spec, o.Options)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	return CheckSet(ctx, set, o)
}

// CheckSet is Check for a set that is open.
func CheckSet(ctx context.Context, set *Set, o CheckOptions) (*Report, error) {
	if err := set.check(); err != nil {
		return nil, err
	}
	if set.Width() > 0 {
		return nil, fmt.Errorf("%s holds rows of numbers: only images are checked", set.title())
	}
	r := &Report{Set: set.Name, Images: len(set.Items), Classes: len(set.Classes)}
	r.SharedClasses = set.SharedClasses
	if set.Published != nil {
		found := set.counts()
		r.Published, r.Found = set.Published, &found
	}
	r.Problems = append(r.Problems, set.Problems...)
	r.Warnings = append(r.Warnings, set.Notices...)
	parts := r.split(set, o.Split)
	r.count(set, parts)
	found, err := examineAll(ctx, set, o)
	if err != nil {
		return nil, err
	}
	r.sizes(found)
	r.listBad(set, found)
	r.listDuplicates(set, parts, found)
	r.look(set, found)
	return r, nil
}

// finding is what decoding one image has shown.
type finding struct {
	w, h int
	// whole is the picture that the item's box was cut out of; empty if it has none.
	whole image.Rectangle
	gray  bool
	sum   [sha256.Size]byte // of size and pixels
	err   error
}

// examineAll decodes every image.
func examineAll(ctx context.Context, set *Set, o CheckOptions) ([]finding, error) {
	found := make([]finding, len(set.Items))
	var next, done atomic.Int64
	var workers sync.WaitGroup
	count := o.Workers
	if count <= 0 {
		count = runtime.GOMAXPROCS(0)
	}
	every := max(len(found)/200, 1)
	for range count {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(found) {
					return
				}
				found[i] = examineOne(ctx, set, i)
				if n := int(done.Add(1)); o.Progress != nil && (n%every == 0 || n == len(found)) {
					o.Progress(n, len(found))
				}
			}
		})
	}
	workers.Wait()
	return found, ctx.Err()
}

func examineOne(ctx context.Context, set *Set, i int) finding {
	m, whole, err := set.load(ctx, i)
	if err != nil {
		return finding{err: err}
	}
	h := sha256.New()
	var size [16]byte
	binary.LittleEndian.PutUint64(size[:], uint64(m.W))
	binary.LittleEndian.PutUint64(size[8:], uint64(m.H))
	h.Write(size[:])
	for y := range m.H {
		h.Write(m.Row(y))
	}
	f := finding{w: m.W, h: m.H, whole: whole, gray: isGray(m)}
	h.Sum(f.sum[:0])
	return f
}

// split finds the part of every class, NoPart throughout if there is no split.
func (r *Report) split(set *Set, spec *SplitSpec) []Part {
	parts := make([]Part, len(set.Classes))
	if set.Unlabeled {
		r.Warnings = append(r.Warnings, "images without folders of classes: they have no labels, and are trained on without")
		return parts
	}
	if len(set.Classes) < 2 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s: a metric needs at least 2, and as many again to be tested on", plural.Of(len(set.Classes), "class")))
		return parts
	}
	use := SplitSpec{Kind: AutoSplit}
	if spec != nil {
		use = *spec
	}
	use = use.resolve(set)
	r.Split = use.String()
	train, test, err := Split(set, use)
	if err != nil {
		r.Split = ""
		r.Problems = append(r.Problems, err.Error())
		return parts
	}
	r.TrainImages, r.TrainClasses = len(train.Items), len(train.Classes)
	r.TestImages, r.TestClasses = len(test.Items), len(test.Classes)
	labels := make(map[string]int, len(set.Classes))
	for i, c := range set.Classes {
		labels[c] = i
	}
	if n := len(train.Classes); n < 2 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s is left to train on, at least 2 are needed: training refuses this set; choose other classes for training", plural.Of(n, "class")))
	}
	if err := Testable(test); err != nil {
		r.Problems = append(r.Problems, err.Error()+": training refuses this set; choose other classes for training, or give more images a class")
	}
	for _, c := range train.Classes {
		parts[labels[c]] = TrainPart
	}
	for _, c := range test.Classes {
		parts[labels[c]] = TestPart
	}
	return parts
}

// count fills the histogram.
func (r *Report) count(set *Set, parts []Part) {
	for label, items := range set.ByClass() {
		r.Histogram = append(r.Histogram, ClassCount{set.Classes[label], parts[label].String(), len(items)})
		if len(items) == 1 {
			r.Single = append(r.Single, set.Classes[label])
		}
	}
	if n := len(r.Single); n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s with a single image (%s): in testing it cannot be retrieved, in training it is paired with itself", plural.Of(n, "class"), nametext.Few(r.Single)))
	}
}

func (r *Report) sizes(found []finding) {
	for _, f := range found {
		if f.err != nil {
			continue
		}
		if r.MinWidth == 0 {
			r.MinWidth, r.MinHeight = f.w, f.h
		}
		r.MinWidth, r.MaxWidth = min(r.MinWidth, f.w), max(r.MaxWidth, f.w)
		r.MinHeight, r.MaxHeight = min(r.MinHeight, f.h), max(r.MaxHeight, f.h)
	}
}

func (r *Report) listBad(set *Set, found []finding) {
	for i, f := range found {
		if f.err != nil {
			r.Bad = append(r.Bad, BadImage{set.Where(i), reason(f.err)})
		}
	}
	if n := len(r.Bad); n > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s, the first is %s: %s", plural.Of(n, "unreadable image"), nametext.Show(r.Bad[0].Path), r.Bad[0].Reason))
	}
}

func (r *Report) listDuplicates(set *Set, parts []Part, found []finding) {
	groups := map[[sha256.Size]byte][]int{}
	var order [][sha256.Size]byte
	for i, f := range found {
		if f.err != nil {
			continue
		}
		if len(groups[f.sum]) == 1 {
			order = append(order, f.sum)
		}
		groups[f.sum] = append(groups[f.sum], i)
	}
	across := map[string]int{}
	for _, sum := range order {
		d := Duplicate{Across: "class"}
		first := set.Items[groups[sum][0]].Label
		for _, i := range groups[sum] {
			label := set.Items[i].Label
			d.Paths = append(d.Paths, set.Where(i))
			d.Classes = append(d.Classes, set.Classes[label])
			if parts[label] != parts[first] {
				d.Across = "splits"
			} else if label != first && d.Across == "class" {
				d.Across = "classes"
			}
		}
		across[d.Across]++
		r.Duplicates = append(r.Duplicates, d)
	}
	if n := across["splits"]; n > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s both in the training and in the test part: test figures are too good", plural.Of(n, "image")))
	}
	if n := across["classes"]; n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s in more than one class: one of its labels is wrong, and right answers count as wrong", plural.Of(n, "image")))
	}
	if n := across["class"]; n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s more than once in the class: each finds its copy, and figures are too good", plural.Of(n, "image")))
	}
}
