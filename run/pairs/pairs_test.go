package pairs

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Windows line ends, a byte order mark, quotes, other columns in another order.
func TestAFileOfPairs(t *testing.T) {
	f, err := Read([]byte("\ufeffSame,a,remark,b\r\n1,x 1.png,,\"y,2.png\"\r\n\r\ndifferent,x 1.png,far,z.png\r\n"))
	fatal(t, err)
	if want := []string{"x 1.png", "y,2.png", "z.png"}; !slices.Equal(f.Paths, want) {
		t.Errorf("paths %q, want %q", f.Paths, want)
	}
	if want := []Pair{{0, 1, true, 2}, {0, 2, false, 4}}; !slices.Equal(f.Pairs, want) {
		t.Errorf("pairs %v, want %v", f.Pairs, want)
	}
}

func TestBadFilesOfPairsAreRefusedByLine(t *testing.T) {
	for text, says := range map[string]string{
		"":                           "the file is empty: want a first line a,b,same",
		"x,y,1\n":                    `has no column "a": want a first line`,
		"a,b,same\n":                 "there are no pairs",
		"a,b,same\nx,y,1\nx,z,yes\n": `line 3: same is "yes", want 1 or 0`,
		"a,b,same\nx,,1\n":           "line 2: the path in column b is empty",
		"a,b,same\nx,y\n":            "line 2",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

func folderOfImages(t *testing.T, names ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "photos")
	for _, name := range names {
		path := filepath.Join(dir, name)
		fatal(t, os.MkdirAll(filepath.Dir(path), 0o755))
		f, err := os.Create(path)
		fatal(t, err)
		img := image.NewGray(image.Rect(0, 0, 8, 8))
		img.SetGray(len(name)%8, 2, color.Gray{Y: 200})
		fatal(t, png.Encode(f, img))
		fatal(t, f.Close())
	}
	return dir
}

func TestImagesAreFoundByAnyOfTheirPaths(t *testing.T) {
	dir := folderOfImages(t, "a/1.png", "a/2.png", "b/1.png")
	set, err := data.Open(context.Background(), "folder:"+dir, data.Options{})
	fatal(t, err)
	defer set.Close()
	link := filepath.Join(filepath.Dir(dir), "link")
	fatal(t, os.Symlink(dir, link))
	csv := filepath.Join(dir, "b", "pairs.csv")
	text := strings.Join([]string{
		"a,b,same",
		"a/1.png,b/1.png,0",                     // as the set calls them
		`a\2.png,b\1.png,0`,                     // on Windows
		dir + "/a/1.png," + link + "/a/2.png,1", // absolute, one by a link
		"1.png,../a/1.png,0",                    // from the folder of the table
		"a/1.png,a/9.png,1",                     // not there
		"a/1.png," + filepath.Join(dir, "a/1.png") + ",1", // the same image
	}, "\n")
	fatal(t, os.WriteFile(csv, []byte(text), 0o644))
	f, err := ReadFile(csv)
	fatal(t, err)
	got := f.Find(set)
	if want := []Pair{{0, 2, false, 2}, {1, 2, false, 3}, {0, 1, true, 4}, {2, 0, false, 5}}; !slices.Equal(got.Pairs, want) {
		t.Errorf("pairs %v, want %v", got.Pairs, want)
	}
	if want := []Fault{{6, "there is no image a/9.png in folder:" + dir}}; !slices.Equal(got.Unknown, want) {
		t.Errorf("unknown %v, want %v", got.Unknown, want)
	}
	if want := []Fault{{7, dir + "/a/1.png is paired with itself"}}; len(got.Itself) != 1 || got.Itself[0].Line != 7 {
		t.Errorf("with itself: %v, want %v", got.Itself, want)
	}
}

func TestWhatFollowsFromPairs(t *testing.T) {
	// 1-2-3 are the same, 5-6 are, 3 and 5 differ; 8 differs from 1.
	r, faults := New([]Pair{{1, 2, true, 2}, {3, 2, true, 3}, {5, 6, true, 4}, {3, 5, false, 5}, {8, 1, false, 6}})
	if len(faults) > 0 {
		t.Errorf("faults %v", faults)
	}
	for _, c := range []struct {
		a, b int
		want Relation
	}{
		{1, 3, Same}, {3, 1, Same}, {5, 6, Same}, {4, 4, Same},
		{1, 6, Different}, {6, 2, Different}, {8, 3, Different},
		{8, 5, Unknown}, {4, 1, Unknown}, {4, 9, Unknown},
	} {
		if got := r.Of(c.a, c.b); got != c.want {
			t.Errorf("%d and %d: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	for item, want := range map[int]int{1: 1, 2: 1, 3: 1, 5: 5, 6: 5, 8: 8, 4: 4} {
		if got := r.Root(item); got != want {
			t.Errorf("the root of %d is %d, want %d", item, got, want)
		}
	}
	if got, want := r.Describe(), "5 pairs of 6 images, 3 the same and 2 different"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestContradictionsNameTheLines(t *testing.T) {
	_, faults := New([]Pair{{1, 2, true, 2}, {2, 3, true, 3}, {4, 3, true, 4}, {1, 4, false, 5}, {2, 1, false, 6}, {7, 8, false, 7}})
	want := []Fault{
		{5, "the images are called different here, and the same by lines 2, 3, 4"},
		{6, "the images are called different here, and the same by line 2"},
	}
	if !slices.Equal(faults, want) {
		t.Errorf("%q, want %q", faults, want)
	}
	r, _ := New([]Pair{{0, 1, true, 2}, {0, 2, true, 3}, {1, 3, false, 4}, {2, 3, false, 5}})
	faults = r.AgainstLabels([]int{0, 0, 1, 1}, func(label int) string { return fmt.Sprint("c", label) })
	want = []Fault{
		{3, `the images are called the same, and are of classes "c0" and "c1"`},
		{5, `the images are called different, and both are of class "c1"`},
	}
	if !slices.Equal(faults, want) {
		t.Errorf("%q, want %q", faults, want)
	}
}

func TestEveryPairComesOnceBeforeAnyComesTwice(t *testing.T) {
	var list []Pair
	for i := range 10 {
		list = append(list, Pair{A: 2 * i, B: 2*i + 1})
	}
	s, err := NewSampler(list, 4, 3, nil)
	fatal(t, err)
	plan := s.Epoch(5)
	if s.Batches() != 3 || len(plan) != 3 {
		t.Fatalf("%d batches, a plan of %d, want 3", s.Batches(), len(plan))
	}
	count := map[int]int{}
	for _, batch := range plan {
		if len(batch) != 8 {
			t.Errorf("a batch of %d images, want 8", len(batch))
		}
		for i := 0; i < len(batch); i += 2 {
			if batch[i]%2 != 0 || batch[i+1] != batch[i]+1 {
				t.Errorf("items %v and %v beside each other are no pair", batch[i], batch[i+1])
			}
			count[batch[i]/2]++
		}
	}
	once, twice := 0, 0
	for _, n := range count {
		if n == 1 {
			once++
		} else if n == 2 {
			twice++
		}
	}
	if once != 8 || twice != 2 {
		t.Errorf("%v: want 8 pairs once and 2 twice", count)
	}
	if !reflect.DeepEqual(plan, s.Epoch(5)) || reflect.DeepEqual(plan, s.Epoch(6)) {
		t.Error("an epoch is not a function of its number")
	}
	other, err := NewSampler(list, 4, 4, nil)
	fatal(t, err)
	if reflect.DeepEqual(plan, other.Epoch(5)) {
		t.Error("the seed changes nothing")
	}
}

// fixed gives the same two batches in every epoch.
type fixed struct{}

func (fixed) Epoch(int) [][]int { return [][]int{{100, 101, 102}, {103, 104, 105}} }
func (fixed) Batches() int      { return 2 }

func TestPairsStandBehindOtherItems(t *testing.T) {
	s, err := NewSampler([]Pair{{A: 1, B: 2}, {A: 3, B: 4}}, 3, 1, fixed{})
	fatal(t, err)
	plan := s.Epoch(0)
	if s.Batches() != 2 || len(plan) != 2 {
		t.Fatalf("%v", plan)
	}
	for i, batch := range plan {
		if len(batch) != 9 || !slices.Equal(batch[:3], fixed{}.Epoch(0)[i]) {
			t.Errorf("batch %d is %v", i, batch)
		}
	}
	for _, bad := range []struct {
		list []Pair
		each int
		want string
	}{{nil, 1, "no pairs"}, {[]Pair{{}}, 0, "0 pairs a batch"}} {
		if _, err := NewSampler(bad.list, bad.each, 1, nil); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v, want %q", err, bad.want)
		}
	}
}

// relations: 0 and 1 are the same, 2 differs from both, of 3 nothing is known.
func relations() *Relations {
	r, _ := New([]Pair{{0, 1, true, 2}, {1, 2, false, 3}})
	return r
}

func square(similarity bool, v ...float64) *losses.Matrix {
	n := int(math.Sqrt(float64(len(v))))
	return &losses.Matrix{Rows: n, Cols: n, V: v, RowLabels: make([]int, n), ColLabels: make([]int, n), SelfColumns: true, Similarity: similarity}
}

func TestTheLossByHand(t *testing.T) {
	v := []float64{
		0, .9, .8, .1,
		.9, 0, 1.2, .1,
		.8, 1.2, 0, .1,
		.1, .1, .1, 0,
	}
	l := &Loss{U: .5, V: 1, Margin: .2, Relations: relations()}
	fatal(t, l.SetItems([]int{0, 1, 2, 3}))
	grad := make([]float64, 16)
	r, err := l.Eval(square(false, v...), grad)
	fatal(t, err)
	// Same: (0,1) and (1,0), .4^2 each. Different: (0,2) and (2,0), .2^2 each; (1,2) is far enough.
	if want := .16 + .04; math.Abs(r.Value-want) > 1e-12 || r.Active != 4 || r.Total != 6 {
		t.Errorf("%+v, want a value of %v, 4 of 6 active", r, want)
	}
	want := []float64{0, .4, -.2, 0, .4, 0, 0, 0, -.2, 0, 0, 0, 0, 0, 0, 0}
	for k := range grad {
		if math.Abs(grad[k]-want[k]) > 1e-12 {
			t.Errorf("gradient %v, want %v", grad, want)
			break
		}
	}
	// Triplets: (0,1,2) with .9 - .8 + .2 = .3; (1,0,2) with .9 - 1.2 + .2 < 0.
	l.Triplet = 2
	if r, err = l.Eval(square(false, v...), grad); err != nil || math.Abs(r.Value-(.2+2*.3)) > 1e-12 {
		t.Errorf("%+v, %v, want a value of %v", r, err, .2+2*.3)
	}
	if math.Abs(grad[1]-(.4+2)) > 1e-12 || math.Abs(grad[2]-(-.2-2)) > 1e-12 {
		t.Errorf("gradient %v", grad)
	}
}

// The loss agrees with difference quotients, and with contrastive and triplet where all pairs
// are known, of distances and of similarities.
func TestTheLossIsContrastiveAndTripletOnWhatIsKnown(t *testing.T) {
	const n = 7
	rng := rand.New(rand.NewPCG(5, 6))
	labels := []int{0, 0, 1, 1, 1, 2, 2}
	var all []Pair
	for i := range n {
		for j := range i {
			all = append(all, Pair{i, j, labels[i] == labels[j], len(all)})
		}
	}
	known, faults := New(all)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	some, _ := New(all[:9])
	for _, m := range []metric.Metric{{Kind: metric.Euclidean}, {Kind: metric.Cosine}} {
		v := make([]float64, n*n)
		for i := range n {
			for j := range i {
				v[i*n+j] = rng.Float64()
				if m.Kind == metric.Euclidean {
					v[i*n+j] *= 2
				}
				v[j*n+i] = v[i*n+j] + .01*rng.Float64()
			}
		}
		x := square(m.Similarity(), v...)
		x.RowLabels, x.ColLabels = labels, labels
		o := losses.Options{Metric: m, Scale: 1}
		items := []int{0, 1, 2, 3, 4, 5, 6}
		for _, r := range []*Relations{known, some} {
			l, err := NewLoss(r, .7, o)
			fatal(t, err)
			fatal(t, l.SetItems(items))
			fatal(t, losses.CheckGradient(l, x))
		}
		l, err := NewLoss(known, .7, o)
		fatal(t, err)
		fatal(t, l.SetItems(items))
		got := make([]float64, n*n)
		r, err := l.Eval(x, got)
		fatal(t, err)
		c, err := losses.New("contrastive", o)
		fatal(t, err)
		tr, err := losses.New("triplet", o)
		fatal(t, err)
		gc, gt := make([]float64, n*n), make([]float64, n*n)
		rc, err := c.Eval(x, gc)
		fatal(t, err)
		rt, err := tr.Eval(x, gt)
		fatal(t, err)
		if want := rc.Value + .7*rt.Value; math.Abs(r.Value-want) > 1e-12 || r.Active != rc.Active || r.Total != rc.Total {
			t.Errorf("%v: %+v, contrastive %+v, triplet %+v", m, r, rc, rt)
		}
		for k := range got {
			if math.Abs(got[k]-gc[k]-.7*gt[k]) > 1e-12 {
				t.Errorf("%v, value %d: gradient %v, want %v", m, k, got[k], gc[k]+.7*gt[k])
			}
		}
	}
}

func TestTheLossRefusesWhatItCannotMean(t *testing.T) {
	l := &Loss{U: .5, V: 1}
	m, grad := square(false, 0, 1, 1, 0), make([]float64, 4)
	_, err := l.Eval(m, grad)
	if err == nil || !strings.Contains(err.Error(), "Relations is nil") {
		t.Errorf("%v", err)
	}
	l.Relations = relations()
	if _, err := l.Eval(m, grad); err == nil || !strings.Contains(err.Error(), "the items of 0 rows are known, the matrix has 2") {
		t.Errorf("%v", err)
	}
	fatal(t, l.SetItems([]int{0, 2}))
	m.SelfColumns = false
	if _, err := l.Eval(m, grad); err == nil || !strings.Contains(err.Error(), "the matrix of a batch with itself") {
		t.Errorf("%v", err)
	}
	m = square(false, 0, 1e200, 1e200, 0)
	fatal(t, l.SetItems([]int{0, 1}))
	if _, err := l.Eval(m, grad); !errors.Is(err, losses.ErrNotFinite) {
		t.Errorf("%v", err)
	}
	// Nothing is known of the batch: nothing happens.
	fatal(t, l.SetItems([]int{3, 4}))
	if r, err := l.Eval(square(false, 0, 1, 1, 0), grad); err != nil || r.Value != 0 || slices.ContainsFunc(grad, func(g float64) bool { return g != 0 }) {
		t.Errorf("%+v, %v, gradient %v", r, err, grad)
	}
}
