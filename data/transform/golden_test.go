package transform

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/golden"
)

// The files under testdata/golden/images were computed by Pillow 9.4.0 and
// torchvision 0.14.1.
func TestImagesEqualPillow(t *testing.T) {
	golden.Walk(t, "images", func(t *testing.T, c *golden.Case) {
		switch {
		case strings.HasPrefix(c.Name, "array_resize_"):
			checkArray(t, c)
		case c.Name == "sizes":
			checkSizes(t, c)
		case c.Params.String("expect", "") == "error":
			checkRefused(t, c)
		case strings.HasPrefix(c.Name, "jpeg_"), strings.HasPrefix(c.Name, "png_"):
			checkFile(t, c)
		default:
			t.Fatalf("unknown case %q", c.Name)
		}
	})
}

func readCaseFile(t *testing.T, c *golden.Case) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(c.Path), filepath.FromSlash(c.Params.String("file", ""))))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func checkRefused(t *testing.T, c *golden.Case) {
	m, err := pixels.Decode(readCaseFile(t, c), pixels.Options{})
	if err == nil && !c.Params.Bool("optional", false) {
		t.Fatalf("decoded to %d x %d, want an error: %s", m.W, m.H, c.Params.String("reason", ""))
	}
	t.Log(err)
}

// numbers returns the pixels row-major, channels last.
func numbers(m *pixels.RGB) []float64 {
	var v []float64
	for y := range m.H {
		for _, p := range m.Row(y) {
			v = append(v, float64(p))
		}
	}
	return v
}

func fromTensor(x golden.Tensor) *pixels.RGB {
	m := pixels.NewRGB(x.Shape[1], x.Shape[0])
	for i, v := range x.Ints() {
		m.Pix[i] = uint8(v)
	}
	return m
}

var (
	arrayResize = regexp.MustCompile(`^(bilinear|bicubic|nearest)_(\d+)x(\d+)$`)
	arrayBox    = regexp.MustCompile(`^(bilinear|bicubic)_box_(\d+)_(\d+)_(\d+)_(\d+)_to_(\d+)x(\d+)$`)
	arrayCrop   = regexp.MustCompile(`^center_crop_(\d+)x(\d+)(_padded)?$`)
	fileResize  = regexp.MustCompile(`^resize(\d+)_(bilinear|bicubic)$`)
	fileStretch = regexp.MustCompile(`^resize_(\d+)x(\d+)_(bilinear|bicubic)$`)
	fileCrop    = regexp.MustCompile(`^resize(\d+)(_bicubic)?_centercrop(\d+)$`)
	filePlain   = regexp.MustCompile(`^centercrop(\d+)_without_resize$`)
	fileBox     = regexp.MustCompile(`^box(\d)_resized(\d+)_(bilinear|bicubic)(_hflip)?$`)
)

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func filterNamed(s string) pixels.Filter {
	if strings.Trim(s, "_") == "bicubic" {
		return pixels.Bicubic
	}
	return pixels.Bilinear
}

func mustApply(t *testing.T, tr Step, m *pixels.RGB) *pixels.RGB {
	t.Helper()
	out, err := tr.Apply(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func checkArray(t *testing.T, c *golden.Case) {
	src := fromTensor(c.Inputs["image"])
	for name, want := range c.Outputs {
		var got *pixels.RGB
		if p := arrayResize.FindStringSubmatch(name); p != nil {
			if p[1] == "nearest" {
				continue // informative only, and not offered
			}
			got = mustApply(t, Stretch{atoi(t, p[3]), atoi(t, p[2]), filterNamed(p[1])}, src)
		} else if p := arrayBox.FindStringSubmatch(name); p != nil {
			top, left, h, w := atoi(t, p[2]), atoi(t, p[3]), atoi(t, p[4]), atoi(t, p[5])
			got = mustApply(t, Stretch{atoi(t, p[7]), atoi(t, p[6]), filterNamed(p[1])}, src.Crop(left, top, w, h))
		} else if p := arrayCrop.FindStringSubmatch(name); p != nil {
			got = mustApply(t, CenterCrop{atoi(t, p[2]), atoi(t, p[1])}, src)
		} else if name == "hflip" {
			got = FlipH(src)
		} else {
			t.Errorf("unknown output %q", name)
			continue
		}
		if !slices.Equal([]int{got.H, got.W, 3}, want.Shape) {
			t.Errorf("%s: %d x %d pixels, want shape %v", name, got.W, got.H, want.Shape)
			continue
		}
		if !slices.Equal(numbers(got), want.Data) {
			t.Errorf("%s: pixels differ", name)
		}
	}
}

func checkSizes(t *testing.T, c *golden.Case) {
	resize, crop := c.Params.Int("resize", 0), c.Params.Int("crop", 0)
	sizes := c.Inputs["w_h"].Ints()
	var resized, corners, boxes []int
	rrc := RandomResizedCrop{MinRatio: 3. / 4, MaxRatio: 4. / 3}
	for i := 0; i < len(sizes); i += 2 {
		w, h := sizes[i], sizes[i+1]
		rw, rh := ShorterSize(w, h, resize)
		resized = append(resized, rw, rh)
		corners = append(corners, halfEven(rh-crop), halfEven(rw-crop))
		box := rrc.fallback(w, h)
		boxes = append(boxes, box.Min.Y, box.Min.X, box.Dy(), box.Dx())
	}
	for name, got := range map[string][]int{
		"resized_w_h": resized, "centercrop_top_left": corners, "random_resized_crop_fallback_top_left_height_width": boxes,
	} {
		if want := c.Outputs[name].Ints(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// checkFile compares every output of a decoded file; the largest difference in
// gray levels is logged.
func checkFile(t *testing.T, c *golden.Case) {
	file := readCaseFile(t, c)
	decode := func(o pixels.Options) *pixels.RGB {
		m, err := pixels.Decode(file, o)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	src := decode(pixels.Options{})
	if want := c.Params.Ints("size_w_h"); src.W != want[0] || src.H != want[1] {
		t.Fatalf("%d x %d pixels, want %v", src.W, src.H, want)
	}
	names := map[string]bool{}
	for key := range c.Outputs {
		names[strings.Split(key, "/")[0]] = true
	}
	worst := 0.0
	for name := range names {
		var m *pixels.RGB
		var norm *Normalization
		if p := fileResize.FindStringSubmatch(name); p != nil {
			m = mustApply(t, Shorter{Size: atoi(t, p[1]), Filter: filterNamed(p[2])}, src)
		} else if p := fileStretch.FindStringSubmatch(name); p != nil {
			m = mustApply(t, Stretch{atoi(t, p[2]), atoi(t, p[1]), filterNamed(p[3])}, src)
		} else if p := fileCrop.FindStringSubmatch(name); p != nil {
			side := atoi(t, p[3])
			m = mustApply(t, ShorterCrop{atoi(t, p[1]), side, side, filterNamed(p[2])}, src)
		} else if p := filePlain.FindStringSubmatch(name); p != nil {
			side := atoi(t, p[1])
			m = mustApply(t, CenterCrop{side, side}, src)
		} else if p := fileBox.FindStringSubmatch(name); p != nil {
			box := c.Params.Ints("box" + p[1] + "_top_left_height_width")
			side := atoi(t, p[2])
			m = mustApply(t, Stretch{side, side, filterNamed(p[3])}, src.Crop(box[1], box[0], box[3], box[2]))
			if p[4] != "" {
				m = FlipH(m)
			}
		} else {
			switch name {
			case "decoded_rgb":
				if c.Params.String("pil_mode", "") == "I" {
					continue // Pillow clips 16-bit gray to 255: the high byte is wanted
				}
				m = src
			case "decoded_high_byte":
				m = src
			case "decoded_rgb_exif_applied":
				m = decode(pixels.Options{EXIF: true})
			case "imagenet_eval_hwc":
				n := ImageNet()
				norm, m = &n, mustApply(t, ShorterCrop{256, 224, 224, pixels.Bilinear}, src)
			case "bninception_eval_hwc_bgr":
				n := Caffe()
				norm, m = &n, mustApply(t, ShorterCrop{256, 224, 224, pixels.Bilinear}, src)
			case "vit_eval_hwc":
				n := Symmetric()
				norm, m = &n, mustApply(t, ShorterCrop{224, 224, 224, pixels.Bicubic}, src)
			default:
				t.Errorf("unknown output %q", name)
				continue
			}
		}
		worst = max(worst, compareResult(t, c, name, m, norm))
	}
	t.Logf("largest difference %.3g gray levels", worst)
	// Lossless files agree to the bit (the rest is the rounding of the numbers
	// in the file). In JPEG only the inverse cosine transform differs from
	// libjpeg-turbo's: 2 levels were measured, 4 leaves room for other pictures.
	limit := 0.01
	if strings.HasPrefix(c.Name, "jpeg_") {
		limit = 4
	}
	if worst > limit {
		t.Errorf("largest difference %.3g gray levels, it must be at most %g", worst, limit)
	}
}

// compareResult returns the largest difference in gray levels.
func compareResult(t *testing.T, c *golden.Case, name string, m *pixels.RGB, norm *Normalization) float64 {
	t.Helper()
	values := numbers(m)
	level := [3]float64{1, 1, 1} // what a gray level is worth
	if norm != nil {
		p, err := NewPipeline(m.W, m.H, *norm, CenterCrop{m.W, m.H})
		if err != nil {
			t.Fatal(err)
		}
		chw := make([]float32, p.Size())
		p.Numbers(chw, m)
		for i := range values {
			values[i] = float64(chw[i%3*m.W*m.H+i/3])
		}
		for ch := range level {
			level[ch] = 1 / (norm.Range * norm.Std[ch])
		}
	}
	if want := c.Outputs[name+"/shape"].Ints(); !slices.Equal(want, []int{m.H, m.W, 3}) {
		t.Errorf("%s: %d x %d pixels, want shape %v", name, m.W, m.H, want)
		return 0
	}
	worst := 0.0
	check := func(what string, got, want float64, channel int) {
		d := math.Abs(got-want) / level[channel]
		worst = max(worst, d)
		if !(d <= c.Tolerance.ATol) {
			t.Errorf("%s %s: %g, want %g: %.3g gray levels", name, what, got, want, d)
		}
	}
	n := float64(m.W * m.H)
	for ch := range 3 {
		sum, squares := 0.0, 0.0
		for i := ch; i < len(values); i += 3 {
			sum += values[i]
		}
		for i := ch; i < len(values); i += 3 {
			squares += (values[i] - sum/n) * (values[i] - sum/n)
		}
		check("channel_mean", sum/n, c.Outputs[name+"/channel_mean"].Data[ch], ch)
		check("channel_std", math.Sqrt(squares/n), c.Outputs[name+"/channel_std"].Data[ch], ch)
	}
	g := 16
	grid, ok := c.Outputs[name+"/grid16"]
	if !ok {
		g = 8
		grid = c.Outputs[name+"/grid8"]
	}
	if len(grid.Data) != 3*g*g {
		t.Errorf("%s: no grid of %d x %d", name, g, g)
		return worst
	}
	for i, want := range grid.Data {
		row, col, ch := i/3/g, i/3%g, i%3
		y, x := int((float64(row)+0.5)*float64(m.H)/float64(g)), int((float64(col)+0.5)*float64(m.W)/float64(g))
		check(fmt.Sprintf("pixel (%d, %d)", x, y), values[3*(y*m.W+x)+ch], want, ch)
	}
	return worst
}
