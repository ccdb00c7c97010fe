package plot

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// figure is where a test draws; VERNIER_FIGURES keeps the files to look at.
func figure(t *testing.T, name string) string {
	if dir := os.Getenv("VERNIER_FIGURES"); dir != "" {
		return filepath.Join(dir, name)
	}
	return filepath.Join(t.TempDir(), name)
}

func readPNG(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	must(t, err)
	return img
}

// share is the part of a figure that has exactly a color, in percent.
func colorShare(img image.Image, c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	n, b0 := 0, img.Bounds()
	for y := b0.Min.Y; y < b0.Max.Y; y++ {
		for x := b0.Min.X; x < b0.Max.X; x++ {
			if pr, pg, pb, _ := img.At(x, y).RGBA(); pr == r && pg == g && pb == b {
				n++
			}
		}
	}
	return 100 * float64(n) / float64(b0.Dx()*b0.Dy())
}

func wantPlot(t *testing.T, path string, colors ...color.Color) {
	t.Helper()
	img := readPNG(t, path)
	if s := img.Bounds().Size(); s != image.Pt(1200, 750) {
		t.Errorf("%s is %v, want 1200 x 750", filepath.Base(path), s)
	}
	for _, c := range colors {
		if p := colorShare(img, c); p < 0.02 {
			t.Errorf("%s: %v fills %.3f%%, the curve is missing", filepath.Base(path), c, p)
		}
	}
	if p := colorShare(img, color.White); p < 40 || p > 99.5 {
		t.Errorf("%s: %.1f%% is background", filepath.Base(path), p)
	}
}

func TestLossFigure(t *testing.T) {
	var points []Point
	rng := rand.New(rand.NewPCG(51, 42))
	for i := range 400 {
		points = append(points, Point{float64(i), 3*math.Exp(-float64(i)/90) + 0.2 + 0.05*rng.NormFloat64()})
	}
	points[120].Y = math.NaN()
	path := figure(t, "loss.png")
	must(t, PNG(path, Loss{"N-pairs", "step", points}))
	wantPlot(t, path, blue)
}

func TestRecallFigure(t *testing.T) {
	var validation, test []Point
	for i := range 12 {
		x := float64(i + 1)
		validation = append(validation, Point{x, 80 - 40*math.Exp(-x/3) - 0.12*max(0, x-8)})
		test = append(test, Point{x, 74 - 42*math.Exp(-x/3)})
	}
	path := figure(t, "recall.png")
	must(t, PNG(path, Recall{Metric: "brm", Validation: validation, Test: test, Best: 9}))
	wantPlot(t, path, blue, orange, gray)
}

func TestRecallFigureWithoutValidationHasTheTestClassesAlone(t *testing.T) {
	path := figure(t, "recall.png")
	must(t, PNG(path, Recall{Metric: "brm", Test: []Point{{1, 60}, {2, 70}}, Best: math.NaN()}))
	wantPlot(t, path, orange)
}

func TestTicksAreRoundNumbers(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		whole     bool
		want      string
	}{
		{0, 1, false, "0.0 0.2 0.4 0.6 0.8 1.0"}, {0.98, 12.2, true, "2 4 6 8 10 12"}, {0, 2, true, "0 1 2"},
		{-0.3, 0.31, false, "-0.3 -0.2 -0.1 0.0 0.1 0.2 0.3"}, {0, 40000, true, "0 10000 20000 30000 40000"}, {0.0011, 0.0019, false, "0.0011 0.0012 0.0013 0.0014 0.0015 0.0016 0.0017 0.0018 0.0019"},
	} {
		var labels []string
		for _, tick := range (niceTicks{c.whole}).Ticks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

func TestFigureOfOneEpoch(t *testing.T) {
	path := figure(t, "one.png")
	must(t, PNG(path, Recall{Metric: "cosine", Validation: []Point{{1, 50}}, Best: math.NaN()}))
	wantPlot(t, path, blue)
}

func TestHistogramFigure(t *testing.T) {
	e := clusters(rand.New(rand.NewPCG(52, 42)), 60, 10, 32, 0.55)
	for _, m := range []metric.Metric{{P: 2}, {Kind: metric.Cosine}} {
		p, err := eval.SamplePairs(e, m, eval.PairOptions{})
		must(t, err)
		h, err := p.Histogram(60)
		must(t, err)
		path := figure(t, "histogram_"+m.Kind.String()+".png")
		must(t, PNG(path, Histogram{Title: "Distances on the test classes", Histogram: h}))
		wantPlot(t, path, blue, orange)
	}
}

func TestROCFigure(t *testing.T) {
	e := clusters(rand.New(rand.NewPCG(53, 42)), 30, 8, 8, 0.8)
	var names []string
	var curves []*eval.ROC
	for _, m := range []metric.Metric{{P: 2}, {Kind: metric.Cosine}} {
		p, err := eval.SamplePairs(e, m, eval.PairOptions{})
		must(t, err)
		r, err := p.ROC()
		must(t, err)
		names, curves = append(names, m.String()), append(curves, r)
	}
	path := figure(t, "roc.png")
	must(t, PNG(path, ROC{"each metric's distance", names, curves}))
	wantPlot(t, path, blue, orange, gray)
	must(t, PNG(path, DET{"each metric's distance", names, curves}))
	wantPlot(t, path, blue, orange, gray)
}

func TestDETOfPairsWithoutErrorsIsStillDrawn(t *testing.T) {
	r, err := eval.NewROC([]float64{1, 2}, []bool{true, false})
	must(t, err)
	path := figure(t, "det.png")
	must(t, PNG(path, DET{"distance", []string{"perfect"}, []*eval.ROC{r}}))
	wantPlot(t, path, gray)
}

// plain is a picture of one color.
func plain(c color.Color, w, h int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, c)
		}
	}
	return img
}

func TestRetrievalGrid(t *testing.T) {
	colors := []color.NRGBA{{90, 120, 200, 255}, {230, 180, 60, 255}, {120, 200, 140, 255}}
	var rows []GridRow
	for q := range 3 {
		r := GridRow{Query: GridCell{Image: plain(colors[q], 32, 32), Caption: fmt.Sprintf("class %d", q)}}
		for n := range 4 {
			right := (q+n)%3 != 1
			c := q
			if !right {
				c = (q + 1) % 3
			}
			r.Neighbors = append(r.Neighbors, GridCell{
				Image: plain(colors[c], 60+80*n, 100), Right: right,
				Caption: fmt.Sprintf("class %d with a rather long name", c), Note: fmt.Sprintf("%.3f", 0.1*float64(n+1)),
			})
		}
		rows = append(rows, r)
	}
	path := figure(t, "grid.png")
	must(t, Grid(path, "Nearest neighbors by brm on the test classes", rows))
	img := readPNG(t, path)
	for q := range 3 {
		y := gridMargin + gridTitle + q*(gridCell+gridCaption+gridGap)
		want := append([]color.NRGBA{}, queryFrame)
		for n := range 4 {
			if rows[q].Neighbors[n].Right {
				want = append(want, rightFrame)
			} else {
				want = append(want, wrongFrame)
			}
		}
		for i, frame := range want {
			x := gridMargin
			if i > 0 {
				x += gridCell + gridApart + (i-1)*(gridCell+gridGap)
			}
			for _, at := range []image.Point{{x + 1, y + 1}, {x + gridCell - 2, y + gridCell - 2}, {x + gridCell/2, y + gridFrame - 1}} {
				if c := color.NRGBAModel.Convert(img.At(at.X, at.Y)); c != frame {
					t.Errorf("row %d, picture %d: frame at %v is %v, want %v", q, i, at, c, frame)
				}
			}
		}
		if c := color.NRGBAModel.Convert(img.At(gridMargin+gridCell/2, y+gridCell/2)); c != colors[q] {
			t.Errorf("row %d: the query's picture is %v, want %v", q, c, colors[q])
		}
	}
}

func TestFiguresOfNothingAreRefusedAndKeepTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.png")
	must(t, os.WriteFile(path, []byte("old"), 0o644))
	for name, draw := range map[string]func() error{
		"loss":   func() error { return PNG(path, Loss{"x", "epoch", []Point{{1, math.NaN()}}}) },
		"recall": func() error { return PNG(path, Recall{}) },
		"histogram": func() error {
			return PNG(path, Histogram{Histogram: &eval.Histogram{Edges: []float64{0, 1}, Intra: []int{0}, Inter: []int{0}}})
		},
		"roc":      func() error { return PNG(path, ROC{}) },
		"det":      func() error { return PNG(path, DET{}) },
		"grid":     func() error { return Grid(path, "", nil) },
		"no image": func() error { return Grid(path, "", []GridRow{{}}) },
	} {
		err := draw()
		if err == nil || !strings.Contains(err.Error(), "old.png") {
			t.Errorf("%s: error %v", name, err)
		}
		if text, _ := os.ReadFile(path); string(text) != "old" {
			t.Fatalf("%s: the old file is gone", name)
		}
	}
	if err := PNG(filepath.Join(t.TempDir(), "none", "x.png"), Loss{"x", "epoch", []Point{{1, 1}}}); err == nil {
		t.Error("a folder that does not exist was accepted")
	}
}

func TestCovarianceFigure(t *testing.T) {
	e := clusters(rand.New(rand.NewPCG(54, 42)), 40, 10, 32, 1)
	for i := range e.N {
		e.X[i*e.H+5] = -e.X[i*e.H+20] // one pair of coordinates goes together
	}
	cov, err := eval.Covariance(e)
	must(t, err)
	path := figure(t, "covariance.png")
	must(t, PNG(path, Covariance{cov}))
	img := readPNG(t, path)
	red, blue := 0, 0
	for y := 150; y < 700; y++ {
		for x := 150; x < 1150; x++ {
			r, _, b, _ := img.At(x, y).RGBA()
			if r > b+0x4000 {
				red++
			}
			if b > r+0x4000 {
				blue++
			}
		}
	}
	// 32 of 1024 cells are variances, 2 the negative pair.
	if ratio := float64(red) / float64(blue); ratio < 12 || ratio > 20 {
		t.Errorf("%d red and %d blue pixels, want 16 to 1", red, blue)
	}
	if err := PNG(path, Covariance{mat.NewSymDense(2, nil)}); err == nil || !strings.Contains(err.Error(), "largest covariance is 0") {
		t.Errorf("no variance: error %v", err)
	}
}

func clusters(rng *rand.Rand, classes, each, h int, spread float64) *eval.Embeddings {
	e := &eval.Embeddings{N: classes * each, H: h}
	for c := range classes {
		center := make([]float64, h)
		for i := range center {
			center[i] = rng.NormFloat64()
		}
		for range each {
			for _, v := range center {
				e.X = append(e.X, float32(v+spread*rng.NormFloat64()))
			}
			e.Labels = append(e.Labels, c)
		}
	}
	return e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
