package vernier_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vernier-ml/vernier"
	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
)

// birds returns the folder of makeBirds, which ends with the test.
func birds(t *testing.T) string {
	t.Helper()
	folder := makeBirds()
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// loaded loads the model of a folder that makeBirds made.
func loaded(t *testing.T, folder string, options ...vernier.Option) *vernier.Model {
	t.Helper()
	m, err := vernier.Load(filepath.Join(folder, "birds.safetensors"), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// pngOf is a bird's file.
func pngOf(t *testing.T, kind, number int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, drawBird(kind, number)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// direct embeds birds as package model does, without the package under test.
func direct(t *testing.T, folder string, pictures ...pixels.RGB) [][]float32 {
	t.Helper()
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	m, _, err := model.Load(filepath.Join(folder, "birds.safetensors"), eng)
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := m.Spec.Input.Evaluation()
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.NewEmbedder(min(64, len(pictures)))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	numbers := make([]float32, pipeline.Size()*len(pictures))
	for i := range pictures {
		cut, err := pipeline.Image(&pictures[i], nil)
		if err != nil {
			t.Fatal(err)
		}
		pipeline.Numbers(numbers[i*pipeline.Size():], cut)
	}
	x, err := e.Embed(nil, numbers)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(slices.Chunk(x, m.Spec.Dim))
}

func sameRows(a, b [][]float32) bool {
	return slices.EqualFunc(a, b, func(x, y []float32) bool { return slices.Equal(x, y) })
}

// Images of every origin have the embeddings that package model gives, in the order of
// the call, also where there are more than go through the network at once.
func TestEmbedGivesTheRowsOfTheModel(t *testing.T) {
	folder := birds(t)
	m := loaded(t, folder)
	for _, n := range []int{1, 2, 5, 64, 130} {
		var pictures []pixels.RGB
		var images []vernier.Image
		for i := range n {
			kind, number := i%4, i/4
			rgb, err := pixels.FromImage(drawBird(kind, number), pixels.Options{})
			if err != nil {
				t.Fatal(err)
			}
			pictures = append(pictures, *rgb)
			file := pngOf(t, kind, number)
			switch i % 4 {
			case 0:
				images = append(images, vernier.Picture(drawBird(kind, number)))
			case 1:
				images = append(images, vernier.Bytes(file))
			case 2:
				images = append(images, vernier.Reader(bytes.NewReader(file)))
			case 3:
				path := filepath.Join(t.TempDir(), "bird")
				if err := os.WriteFile(path, file, 0o644); err != nil {
					t.Fatal(err)
				}
				images = append(images, vernier.Files(path)...)
			}
		}
		got, err := m.Embed(t.Context(), images...)
		if err != nil {
			t.Fatal(err)
		}
		if want := direct(t, folder, pictures...); !sameRows(got, want) {
			t.Errorf("%d images: other rows than package model gives", n)
		}
	}
	if rows, err := m.Embed(t.Context()); len(rows) != 0 || err != nil {
		t.Errorf("no images: %v, %v", rows, err)
	}
}

func TestImagesThatCannotBeEmbeddedAreNamedAndTheOthersAreThere(t *testing.T) {
	folder := birds(t)
	m := loaded(t, folder)
	missing := filepath.Join(folder, "missing.png")
	good := vernier.Picture(drawBird(1, 1))
	rows, err := m.Embed(t.Context(), good, vernier.File(missing), vernier.Bytes([]byte("a text")), good, vernier.Image{})
	if len(rows) != 5 || rows[0] == nil || rows[1] != nil || rows[2] != nil || rows[3] == nil || rows[4] != nil {
		t.Fatalf("rows %v", rows)
	}
	want := direct(t, folder, rgbOf(t, 1, 1), rgbOf(t, 1, 1), rgbOf(t, 1, 1), rgbOf(t, 1, 1), rgbOf(t, 1, 1))
	if !slices.Equal(rows[0], want[0]) || !slices.Equal(rows[3], want[0]) {
		t.Error("beside images that cannot be decoded, the others have other rows")
	}
	for _, text := range []string{"image " + missing + ": no such file", "images[2]: not an image", "images[4]: it is the zero Image"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in the error\n%v", text, err)
		}
	}
	var first *vernier.ImageError
	if !errors.As(err, &first) || first.Index != 1 || first.Name != missing || !errors.Is(err, os.ErrNotExist) || !errors.Is(err, pixels.ErrNotImage) {
		t.Errorf("the error does not unwrap: %v", err)
	}
}

func rgbOf(t *testing.T, kind, number int) pixels.RGB {
	t.Helper()
	rgb, err := pixels.FromImage(drawBird(kind, number), pixels.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return *rgb
}

// Only what a Reader holds is gone after the first time.
func TestAnImageMayBeEmbeddedAgain(t *testing.T) {
	folder := birds(t)
	m := loaded(t, folder)
	for name, img := range map[string]vernier.Image{
		"file": vernier.File(filepath.Join(folder, "robin1.png")), "bytes": vernier.Bytes(pngOf(t, 0, 1)), "picture": vernier.Picture(drawBird(0, 1)),
	} {
		for range 2 {
			if d, err := m.Distance(t.Context(), img, img); d != 0 || err != nil {
				t.Errorf("%s: distance %v from itself, %v", name, d, err)
			}
		}
	}
	once := vernier.Reader(bytes.NewReader(pngOf(t, 0, 1)))
	if _, err := m.Embed(t.Context(), once); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Embed(t.Context(), once); !errors.Is(err, pixels.ErrEmptyFile) {
		t.Errorf("a reader that was read: %v", err)
	}
}

// Goroutines that share a model get what one alone gets.
func TestAModelMayBeSharedByGoroutines(t *testing.T) {
	folder := birds(t)
	m := loaded(t, folder, vernier.WithThreads(2))
	x, err := m.OpenIndex(filepath.Join(folder, "birds.index"))
	if err != nil {
		t.Fatal(err)
	}
	work := func(n int) (string, error) {
		var images []vernier.Image
		for i := range n {
			images = append(images, vernier.Picture(drawBird(i%4, i)))
		}
		rows, err := m.Embed(t.Context(), images...)
		if err != nil {
			return "", err
		}
		near, err := x.Search(t.Context(), images[0], 3)
		if err != nil {
			return "", err
		}
		same, err := m.Same(t.Context(), images[0], images[n-1])
		return fmt.Sprint(rows, near, same), err
	}
	sizes := []int{1, 2, 3, 4, 5} // more than there are networks kept
	want := make([]string, len(sizes))
	for i, n := range sizes {
		if want[i], err = work(n); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for round := range 5 {
				i := (g + round) % len(sizes)
				if got, err := work(sizes[i]); err != nil || got != want[i] {
					t.Errorf("goroutine %d: %v\n%s\nwant\n%s", g, err, got, want[i])
				}
			}
		})
	}
	all.Wait()
}

// ending is a reader that calls a function before it ends.
type ending struct{ call func() }

func (e ending) Read([]byte) (int, error) {
	e.call()
	return 0, io.EOF
}

func TestAContextThatEndsEndsTheCall(t *testing.T) {
	folder := birds(t)
	m := loaded(t, folder)
	gone := errors.New("the client has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	var images []vernier.Image
	for i := range 100 {
		images = append(images, vernier.Picture(drawBird(0, i)))
	}
	images[70] = vernier.Reader(ending{func() { cancel(gone) }})
	if rows, err := m.Embed(ctx, images...); rows != nil || !errors.Is(err, gone) {
		t.Errorf("while images are decoded: %d rows, %v", len(rows), err)
	}
	if _, err := m.Distance(ctx, images[0], images[1]); !errors.Is(err, gone) {
		t.Errorf("before: %v", err)
	}
	x, err := m.OpenIndex(filepath.Join(folder, "birds.index"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Search(ctx, images[0], 1); !errors.Is(err, gone) {
		t.Errorf("search: %v", err)
	}
	if _, err := m.Embed(t.Context(), images[:3]...); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAClosedModelSaysSo(t *testing.T) {
	folder := birds(t)
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	m := loaded(t, folder, vernier.WithEngine(eng))
	x, err := m.OpenIndex(filepath.Join(folder, "birds.index"))
	if err != nil {
		t.Fatal(err)
	}
	bird := vernier.Picture(drawBird(0, 1))
	if _, err := m.Embed(t.Context(), bird); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := m.Embed(t.Context(), bird); !errors.Is(err, vernier.ErrClosed) {
		t.Errorf("Embed: %v", err)
	}
	if _, err := x.SearchEmbeddings(t.Context(), [][]float32{make([]float32, 8)}, 1); !errors.Is(err, vernier.ErrClosed) {
		t.Errorf("SearchEmbeddings: %v", err)
	}
	again := loaded(t, folder, vernier.WithEngine(eng)) // the engine is the caller's
	if _, err := again.Embed(t.Context(), bird); err != nil {
		t.Errorf("the engine after Close of a model: %v", err)
	}
}

func TestSameComparesWithTheThreshold(t *testing.T) {
	folder := birds(t)
	robin, wren := vernier.Picture(drawBird(0, 1)), vernier.Picture(drawBird(1, 1))
	d, err := loaded(t, folder).Distance(t.Context(), robin, wren)
	if err != nil || !(d > 0) {
		t.Fatalf("distance %v, %v", d, err)
	}
	rows := direct(t, folder, rgbOf(t, 0, 1), rgbOf(t, 1, 1))
	var squares float64
	for i := range rows[0] {
		squares += math.Pow(float64(rows[0][i])-float64(rows[1][i]), 2)
	}
	if want := math.Sqrt(squares); math.Abs(d-want) > 1e-12 {
		t.Errorf("distance %v, want %v", d, want)
	}
	for threshold, want := range map[float64]bool{d: true, math.Nextafter(d, 0): false} {
		m := loaded(t, folder, vernier.WithThreshold(threshold))
		if got, ok := m.Threshold(); got != threshold || !ok {
			t.Errorf("threshold %v %v, want %v", got, ok, threshold)
		}
		if same, err := m.Same(t.Context(), robin, wren); same != want || err != nil {
			t.Errorf("threshold %v: same %v, %v", threshold, same, err)
		}
	}
	if got, ok := loaded(t, folder).Threshold(); got != 0.5 || !ok {
		t.Errorf("the stored threshold is %v %v, want 0.5", got, ok)
	}
	other, err := newBirdModel()
	if err != nil {
		t.Fatal(err)
	}
	other.Threshold = nil
	if err := other.Save(filepath.Join(folder, "birds.safetensors"), nil); err != nil {
		t.Fatal(err)
	}
	m := loaded(t, folder)
	if _, ok := m.Threshold(); ok {
		t.Error("a threshold that nobody stored")
	}
	if _, err := m.Same(t.Context(), robin, wren); !errors.Is(err, vernier.ErrNoThreshold) || !strings.Contains(err.Error(), "birds.safetensors") {
		t.Errorf("without a threshold: %v", err)
	}
	if _, err := m.EmbeddingDistance(rows[0], rows[1][1:]); err == nil || !strings.Contains(err.Error(), "7 numbers") {
		t.Errorf("rows of other lengths: %v", err)
	}
}

func TestAnIndexOfAnotherModelIsRefused(t *testing.T) {
	folder := birds(t)
	index := filepath.Join(folder, "birds.index")
	m := loaded(t, folder)
	bird := vernier.Picture(drawBird(0, 1))
	other, err := newBirdModel()
	if err != nil {
		t.Fatal(err)
	}
	other.Spec.Scale = 2
	elsewhere := t.TempDir()
	if err := other.Save(filepath.Join(elsewhere, "birds.safetensors"), nil); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	strange := loaded(t, elsewhere)
	if _, err := strange.OpenIndex(index); !errors.Is(err, vernier.ErrOtherModel) || !strings.Contains(err.Error(), index) {
		t.Errorf("OpenIndex: %v", err)
	}
	if err := strange.AppendIndex(t.Context(), index, vernier.Entry{Image: bird}); !errors.Is(err, vernier.ErrOtherModel) {
		t.Errorf("AppendIndex: %v", err)
	}
	unsigned := filepath.Join(folder, "rows.npy")
	if err := gallery.Write(unsigned, &gallery.Table{Embeddings: &eval.Embeddings{X: make([]float32, 8), N: 1, H: 8}}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.OpenIndex(unsigned); err == nil || !strings.Contains(err.Error(), "does not say which model") {
		t.Errorf("rows of nobody: %v", err)
	}
	err = m.AppendIndex(t.Context(), index, vernier.Entry{Image: bird}, vernier.Entry{Image: vernier.Bytes(nil)})
	var bad *vernier.ImageError
	if !errors.As(err, &bad) || bad.Index != 1 {
		t.Errorf("AppendIndex of what is no image: %v", err)
	}
	after, err := os.ReadFile(index)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("an index changed by what it refused: %v", err)
	}
	if err := m.AppendIndex(t.Context(), index, vernier.Entry{Image: bird, Name: "frame 3"}); err != nil {
		t.Fatal(err)
	}
	x, err := m.OpenIndex(index)
	if err != nil || x.Len() != 7 {
		t.Fatalf("%v", err)
	}
	near, err := x.Search(t.Context(), bird, 100)
	if err != nil || len(near) != 7 || near[0].Name != "robin1.png" || near[0].Class != "robin" || near[1].Name != "frame 3" || near[1].Row != 6 || near[1].Distance != 0 {
		t.Errorf("%+v, %v", near, err)
	}
	if _, err := x.Search(t.Context(), bird, 0); err == nil {
		t.Error("0 neighbors are found")
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	folder := birds(t)
	file := filepath.Join(folder, "birds.safetensors")
	for name, c := range map[string]struct {
		path    string
		options []vernier.Option
		says    string
	}{
		"missing":       {filepath.Join(folder, "none"), nil, "none"},
		"no run":        {folder, nil, "config.json"},
		"an image":      {filepath.Join(folder, "wren1.png"), nil, "wren1.png"},
		"no last epoch": {file, []vernier.Option{vernier.WithLastEpoch()}, "is a file"},
		"no threads":    {file, []vernier.Option{vernier.WithThreads(0)}, "WithThreads(0)"},
		"no engine":     {file, []vernier.Option{vernier.WithEngine(nil)}, "WithEngine"},
		"no number":     {file, []vernier.Option{vernier.WithThreshold(math.NaN())}, "WithThreshold(NaN)"},
		"below 0":       {file, []vernier.Option{vernier.WithThreshold(-1)}, "at least 0"},
		"no pixels":     {file, []vernier.Option{vernier.WithMaxPixels(0)}, "WithMaxPixels(0)"},
	} {
		m, err := vernier.Load(c.path, c.options...)
		if m != nil || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := loaded(t, folder, vernier.WithMaxPixels(24*20-1))
	for name, img := range map[string]vernier.Image{"picture": vernier.Picture(drawBird(0, 1)), "file": vernier.File(filepath.Join(folder, "wren1.png"))} {
		if _, err := m.Embed(t.Context(), img); !errors.Is(err, pixels.ErrTooLarge) {
			t.Errorf("%s of too many pixels: %v", name, err)
		}
	}
}

// A model in memory embeds as its file does, and its engine is the caller's.
func TestNewTakesAModelInMemory(t *testing.T) {
	folder := birds(t)
	inner, err := newBirdModel()
	if err != nil {
		t.Fatal(err)
	}
	m, err := vernier.New(inner, vernier.WithThreshold(3))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	rows, err := m.Embed(t.Context(), vernier.Picture(drawBird(2, 1)))
	if err != nil || !sameRows(rows, direct(t, folder, rgbOf(t, 2, 1))) {
		t.Errorf("other rows than those of its file, %v", err)
	}
	if d, ok := m.Threshold(); d != 3 || !ok {
		t.Errorf("threshold %v %v", d, ok)
	}
	for name, o := range map[string]vernier.Option{"threads": vernier.WithThreads(1), "engine": vernier.WithEngine(inner.Params.Engine()), "epoch": vernier.WithLastEpoch()} {
		if _, err := vernier.New(inner, o); err == nil || !strings.Contains(err.Error(), "for Load") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRowsTakeThePlaceOfImages: without a head an embedding is its row, (3, 4) is 5 from 0,
// and what is no row of the model is told.
func TestRowsTakeThePlaceOfImages(t *testing.T) {
	spec, err := model.DefaultSpec(backbone.FeaturesSpec(2, ""))
	if err != nil {
		t.Fatal(err)
	}
	spec.Head, spec.Dim, spec.Normalization, spec.Metric = model.HeadNone, 2, model.NormNone, metric.Metric{Kind: metric.Euclidean}
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	inner, err := model.New(eng, spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	m, err := vernier.New(inner, vernier.WithThreshold(5))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	zero, far := vernier.Row([]float32{0, 0}), vernier.Row([]float32{3, 4})
	rows, err := m.Embed(t.Context(), zero, far)
	if err != nil || !sameRows(rows, [][]float32{{0, 0}, {3, 4}}) {
		t.Errorf("rows %v, %v", rows, err)
	}
	if d, err := m.Distance(t.Context(), zero, far); err != nil || d != 5 {
		t.Errorf("distance %v, %v", d, err)
	}
	if same, err := m.Same(t.Context(), zero, far); err != nil || !same {
		t.Errorf("same: %v, %v", same, err)
	}
	for says, img := range map[string]vernier.Image{
		"a row of 3 features, the model takes 2":              vernier.Row([]float32{1, 2, 3}),
		"number 1 of the row is NaN":                          vernier.Row([]float32{1, float32(math.NaN())}),
		"the model takes rows of 2 features, not images: giv": vernier.Picture(drawBird(0, 1)),
	} {
		rows, err := m.Embed(t.Context(), zero, img)
		var bad *vernier.ImageError
		if !errors.As(err, &bad) || bad.Index != 1 || !strings.Contains(err.Error(), says) || rows[0] == nil || rows[1] != nil {
			t.Errorf("%v, rows %v; want %q", err, rows, says)
		}
	}
	if _, err := loaded(t, birds(t)).Embed(t.Context(), far); err == nil || !strings.Contains(err.Error(), "it is a Row, and the model takes images") {
		t.Errorf("a row for a model of images: %v", err)
	}
}

// An image is one entry of an index, whatever it was read from and called.
func TestAnIndexKnowsImagesByTheirFiles(t *testing.T) {
	folder := birds(t)
	index, file := filepath.Join(t.TempDir(), "own.index"), filepath.Join(folder, "wren1.png")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := loaded(t, folder)
	for _, c := range []struct {
		entry vernier.Entry
		len   int
		name  string
	}{
		{vernier.Entry{Image: vernier.File(file), Class: "wren"}, 1, file},
		{vernier.Entry{Image: vernier.Bytes(content), Name: "moved"}, 1, "moved"},
		{vernier.Entry{Image: vernier.Reader(bytes.NewReader(content)), Name: "again"}, 1, "again"},
		{vernier.Entry{Image: vernier.Picture(drawBird(1, 1)), Name: "drawn"}, 2, ""},
		{vernier.Entry{Image: vernier.Picture(drawBird(1, 1)), Name: "drawn"}, 2, ""},
	} {
		if err := m.AppendIndex(t.Context(), index, c.entry); err != nil {
			t.Fatal(err)
		}
		x, err := m.OpenIndex(index)
		if err != nil || x.Len() != c.len {
			t.Fatalf("%s: %d images, want %d: %v", c.name, x.Len(), c.len, err)
		}
		near, err := x.Search(t.Context(), vernier.File(file), 1)
		if c.name != "" && (err != nil || near[0].Name != c.name || near[0].Class != "wren") {
			t.Errorf("%+v, want %s: %v", near, c.name, err)
		}
	}
	s, err := gallery.OpenFile(index, gallery.Info{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	key := fmt.Sprintf("%x", sha256.Sum256(content))
	if known, err := s.Known(t.Context(), []string{key}); err != nil || known[key].Path != "again" {
		t.Errorf("%+v: %v", known, err)
	}
	gone := filepath.Join(folder, "gone.png")
	if err := m.AppendIndex(t.Context(), index, vernier.Entry{Image: vernier.File(gone)}); !errors.As(err, new(*vernier.ImageError)) {
		t.Errorf("a file that is not there: %v", err)
	}
}
