package data

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/pixels"
)

// corruptedSet damages the images of a folder, all in the same way.
func corruptedSet(t testing.TB, root string, c Corruption, shorter int, seed uint64) *Set {
	t.Helper()
	set, err := Corrupted(mustOpen(t, "folder:"+root), shorter, seed, func(Item) Corruption { return c })
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// grayFiles are n images of one gray.
func grayFiles(t testing.TB, n, side int) files {
	f := make(files)
	m := pixels.NewRGB(side, side)
	for i := range m.Pix {
		m.Pix[i] = 100
	}
	for i := range n {
		f[string(rune('a'+i%2))+"/"+string(rune('a'+i/26))+string(rune('a'+i%26))+".png"] = imagetest.EncodePNG(t, m)
	}
	return f
}

func TestImpulseNoiseHitsItsShareOfPixels(t *testing.T) {
	set := corruptedSet(t, grayFiles(t, 20, 40).folder(t), Corruption{Impulse: 0.1}, 40, 3)
	count := map[uint8]int{}
	for i := range set.Items {
		m, err := set.Load(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		for p := 0; p < len(m.Pix); p += 3 {
			if m.Pix[p] != m.Pix[p+1] || m.Pix[p] != m.Pix[p+2] {
				t.Fatalf("pixel %v", m.Pix[p:p+3])
			}
			count[m.Pix[p]]++
		}
	}
	n := 20. * 40 * 40
	spread := 5 * math.Sqrt(n*.05*.95) // five deviations of a binomial
	for v, want := range map[uint8]float64{0: .05 * n, 255: .05 * n, 100: .9 * n} {
		if math.Abs(float64(count[v])-want) > 1.5*spread {
			t.Errorf("%d pixels of %d, want about %v", count[v], v, want)
		}
	}
}

func TestOcclusionHidesABoxInItsShareOfImages(t *testing.T) {
	set := corruptedSet(t, grayFiles(t, 200, 30).folder(t), Corruption{Occlusion: 0.3}, 30, 3)
	hidden := 0
	for i := range set.Items {
		m, err := set.Load(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		box, color := m.Bounds(), [3]uint8{}
		box.Max, box.Min = box.Min, box.Max
		pixels := 0
		for y := range m.H {
			for x := range m.W {
				if p := [3]uint8(m.Row(y)[3*x:]); p != [3]uint8{100, 100, 100} {
					if pixels > 0 && p != color {
						t.Fatal("several colors")
					}
					color = p
					pixels++
					box.Min.X, box.Min.Y = min(box.Min.X, x), min(box.Min.Y, y)
					box.Max.X, box.Max.Y = max(box.Max.X, x+1), max(box.Max.Y, y+1)
				}
			}
		}
		if pixels == 0 {
			continue
		}
		hidden++
		if pixels != box.Dx()*box.Dy() {
			t.Errorf("%d pixels are no box %v", pixels, box)
		}
		if share := float64(pixels) / 900; share < .08 || share > .43 {
			t.Errorf("%.2f of the image is hidden", share)
		}
	}
	if hidden < 35 || hidden > 85 {
		t.Errorf("%d of 200 images, want about 60", hidden)
	}
}

func TestCorruptionIsTheSameEveryTimeAndPerSeed(t *testing.T) {
	root := photoFiles(t).folder(t)
	load := func(seed uint64, c Corruption) [][]uint8 {
		set := corruptedSet(t, root, c, 24, seed)
		var all [][]uint8
		for i := range set.Items {
			if m, err := set.Load(t.Context(), i); err == nil {
				all = append(all, slices.Clone(m.Compact().Pix))
			}
		}
		return all
	}
	c := Corruption{Impulse: .2, Occlusion: 1}
	equal := func(a, b [][]uint8) bool { return slices.EqualFunc(a, b, slices.Equal) }
	first := load(1, c)
	if len(first) != 5 || !equal(first, load(1, c)) {
		t.Errorf("%d images, other pixels the second time", len(first))
	}
	if equal(first, load(2, c)) || equal(first, load(1, Corruption{})) {
		t.Error("the seed or the corruption makes no difference")
	}
}

func TestCorruptedImagesHaveOtherFeatures(t *testing.T) {
	root, dir := photoFiles(t).folder(t), t.TempDir()
	for _, c := range []Corruption{{}, {Impulse: .1}, {Impulse: .2}, {Occlusion: .1}} {
		if f := mustCache(t, corruptedSet(t, root, c, 24, 1), doubled(dir)); f.Built != 6 {
			t.Errorf("%v: computed %d", c, f.Built)
		}
	}
	if f := mustCache(t, corruptedSet(t, root, Corruption{Occlusion: .1, Labels: .3}, 24, 1), doubled(dir)); f.Built != 0 {
		t.Errorf("wrong labels: computed %d", f.Built)
	}
}

func TestWrongLabelsKeepTheSizesOfClasses(t *testing.T) {
	f := make(files)
	for c := range 5 {
		for i := range 20 {
			f[string(rune('a'+c))+"/"+string(rune('a'+i))+".png"] = imagetest.EncodePNG(t, picture(3, 3, uint64(i)))
		}
	}
	set := mustOpen(t, "folder:"+f.folder(t))
	for _, share := range []float64{0, .1, .2, 1} {
		got, err := Mislabel(set, share, 4)
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for i, it := range got.Items {
			if it.Label != set.Items[i].Label {
				wrong++
			}
			if it.Path != set.Items[i].Path {
				t.Fatal("items moved")
			}
		}
		if want := int(math.Round(100 * share)); wrong != want {
			t.Errorf("%v: %d wrong labels of 100, want %d", share, wrong, want)
		}
		for c, items := range got.ByClass() {
			if len(items) != 20 {
				t.Errorf("%v: class %d has %d images", share, c, len(items))
			}
		}
		again, err := Mislabel(set, share, 4)
		if err != nil || !slices.Equal(again.Labels(), got.Labels()) {
			t.Errorf("%v: other labels the second time, %v", share, err)
		}
	}
	a, _ := Mislabel(set, .2, 1)
	b, _ := Mislabel(set, .2, 2)
	if slices.Equal(a.Labels(), b.Labels()) {
		t.Error("the seed makes no difference")
	}
}

func TestWrongLabelsWhereOneClassHasNearlyAllImages(t *testing.T) {
	f := make(files)
	for i := range 20 {
		f["a/"+string(rune('a'+i))+".png"] = imagetest.EncodePNG(t, picture(3, 3, uint64(i)))
	}
	f["b/x.png"] = imagetest.EncodePNG(t, picture(3, 3, 99))
	set := mustOpen(t, "folder:"+f.folder(t))
	if _, err := Mislabel(set, 1, 4); err == nil || !strings.Contains(err.Error(), `class "a"`) {
		t.Errorf("got %v", err)
	}
	if _, err := Mislabel(set, .05, 4); err == nil || !strings.Contains(err.Error(), "between two") {
		t.Errorf("got %v", err)
	}
}

func TestSharesOfCorruptionAreChecked(t *testing.T) {
	for _, c := range []Corruption{{Impulse: -.1}, {Occlusion: 1.5}, {Labels: math.NaN()}} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "not within") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for text, says := range map[string]string{
		"impulse": "want shares", "noise=0.1": "want shares", "impulse=x": "no number", "labels=2": "not within", "labels=.1,labels=.2": "twice",
	} {
		if _, err := ParseCorruption(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]Corruption{"": {}, "none": {}, "impulse=0.1,labels=1": {Impulse: .1, Labels: 1}, "occlusion=0.25": {Occlusion: .25}} {
		got, err := ParseCorruption(text)
		if err != nil || got != want || text != "" && got.String() != text {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
}
