package bench

import (
	"context"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
)

func TestMedianAndQuartilesByHand(t *testing.T) {
	for _, c := range []struct {
		times []float64
		want  figures
	}{
		{[]float64{2}, figures{2, 0, 2}},
		{[]float64{3, 1, 2}, figures{2, .5, 1}},
		{[]float64{4, 1, 3, 2}, figures{2.5, .6, 1}},
		{[]float64{10, 1, 1, 1, 1}, figures{1, 0, 1}},
	} {
		if got := summary(c.times); math.Abs(got.median-c.want.median) > 1e-12 || math.Abs(got.spread-c.want.spread) > 1e-12 || got.fastest != c.want.fastest {
			t.Errorf("%v: got %+v, want %+v", c.times, got, c.want)
		}
	}
}

func TestShortIterationsAreTimedTogether(t *testing.T) {
	calls := 0
	times, err := measure(context.Background(), time.Millisecond, func() error { calls++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if len(times) < fewest || calls < 100*len(times) {
		t.Errorf("%d times of %d calls", len(times), calls)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := measure(ctx, time.Hour, func() error { return nil }); err != context.Canceled {
		t.Errorf("after the context's end: %v", err)
	}
}

// 2.03e9 multiplications are what papers and libraries give for BN-Inception at 224
// pixels, 1.81e9 for ResNet-18, 4.09e9 for ResNet-50, 4.46e9 for ConvNeXt-T, 17.58e9 for
// ViT-B/16; ViT-S/16 has 4.25e9 (timm) without, and 4.6e9 with the products of attention.
// EfficientNet-Lite0 has 0.385e9, as hooks on PyTorch's layers count them. DINOv2-S/14 by hand: 12 blocks of 257
// tokens with 12 x 384^2 in products and 2 x 257 x 384 in attention, and 256 patches of 588.
func TestOperationsOfNetworksAreTheKnownOnes(t *testing.T) {
	want := map[string]float64{
		"bninception": 2 * 2.03e9, "resnet18": 2 * 1.81e9, "resnet50": 2 * 4.09e9, "efficientnetlite0": 2 * .3846e9,
		"convnexttiny": 2 * 4.46e9, "vit-s": 2 * 4.6e9, "vit-b": 2 * 17.58e9, "dinov2-s": 2 * 6.12e9,
	}
	eng := reference.New()
	for _, n := range networks() {
		m, err := n.model(eng)
		if err != nil {
			t.Fatal(err)
		}
		all, first, err := n.products(eng, m)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(all-want[n.name]) > .02*want[n.name] {
			t.Errorf("%s: %.3g operations, want %.3g", n.name, all, want[n.name])
		}
		if !(first > 0 && first < all/10) {
			t.Errorf("%s: the first layer has %.3g operations", n.name, first)
		}
	}
}

func TestFindTakesABenchmarkOrACase(t *testing.T) {
	b, err := Find("gemm")
	if err != nil || len(b.Cases) < 2 {
		t.Errorf("gemm: %d cases, %v", len(b.Cases), err)
	}
	if b, err = Find("gemm/1024"); err != nil || len(b.Cases) != 1 || b.Cases[0].Name != "1024" {
		t.Errorf("gemm/1024: %v, %v", b.Cases, err)
	}
	for name, want := range map[string]string{"gem": "bninception-train", "gemm/77": "1024"} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not name %s", name, err, want)
		}
	}
}

func TestANumberIsFoundInWhatAPeerPrints(t *testing.T) {
	for _, c := range []struct {
		what, out, pattern, unit string
		want                     float64
		fails                    string
	}{
		{what: "one object", out: `{"img_s": 12.5}`, unit: "img_s", want: 12.5},
		{what: "the last object", out: "{\"img_s\": 1}\nnoise\n{\"img_s\": 2}\nbye\n", unit: "img_s", want: 2},
		{what: "what is measured first", out: `{"img_s": 1, "infer_img_s": 2, "train_img_s": 3}`, unit: "img_s", want: 3},
		{what: "seconds", out: `{"seconds": 0.25}`, unit: "seconds", want: .25},
		{what: "no object", out: "3.5 images/s", fails: "--peer-pattern"},
		{what: "another name", out: `{"speed": 3}`, fails: "train_img_s"},
		{what: "no number", out: `{"img_s": "fast"}`, fails: "img_s"},
		{what: "nothing", out: `{"img_s": 0}`, fails: "no rate"},
		{what: "a pattern", out: "1 images/s\n2.5 images/s", pattern: `([\d.]+) images/s`, want: 2.5},
		{what: "a named group", out: "took 4 for 0.125 s", pattern: `took (\d+) for (?P<seconds>[\d.]+) s`, unit: "seconds", want: .125},
		{what: "a pattern without group", out: "2.5 images/s", pattern: `[\d.]+ images/s`, fails: "group"},
		{what: "a pattern that does not match", out: "x", pattern: `(\d+)`, fails: "matches"},
		{what: "a pattern that finds no number", out: "x images/s", pattern: `(\w+) images/s`, fails: `"x"`},
	} {
		p := Peer{}
		if c.pattern != "" {
			p.Pattern = regexp.MustCompile(c.pattern)
		}
		r, err := p.read([]byte(c.out), "bninception-train")
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: got %v, want an error with %q", c.what, err, c.fails)
			}
			continue
		}
		if err != nil || r.value != c.want || r.unit != c.unit {
			t.Errorf("%s: got %+v, %v, want %v %s", c.what, r, err, c.want, c.unit)
		}
	}
}

// plainer has seven convolutions that cuDNN has no algorithm for.
type plainer struct{ engine.Engine }

func (plainer) PlainConvolutions() int { return 7 }

func TestAPeerIsMeasuredInTurn(t *testing.T) {
	eng := plainer{reference.New()}
	b := Benchmark{Name: "small-train", Batch: 4, Cases: []Case{{start: func(context.Context, engine.Engine, int) (*work, error) {
		return &work{images: 4, run: func() error { time.Sleep(3 * time.Millisecond); return nil }}, nil
	}}}}
	r, err := b.Start(context.Background(), b.Cases[0], eng, Options{Span: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	turns := 0
	told := func(int, float64, float64) { turns++ }
	c, err := Compare(context.Background(), r, Peer{Command: `echo '{"train_seconds": 0.008, "peak_mib": 321}'`}, 3, told)
	if err != nil {
		t.Fatal(err)
	}
	if turns != 3 || len(c.Ours) != 3 || c.OtherMedian != 500 || c.OtherPeak != 321 || c.Unit != "img_s" {
		t.Errorf("%d turns, %+v", turns, c)
	}
	if want := `{"train_seconds": 0.008, "peak_mib": 321}`; string(c.OtherSaid) != want {
		t.Errorf("the peer said %s, want %s", c.OtherSaid, want)
	}
	if c.WithoutCuDNN == nil || *c.WithoutCuDNN != 7 {
		t.Errorf("%v convolutions without cuDNN, want 7", c.WithoutCuDNN)
	}
	if math.Abs(c.Ratio-c.OursMedian/500) > 1e-12 || c.OursMedian > 4/.003 {
		t.Errorf("ratio %v of %v", c.Ratio, c.OursMedian)
	}
	for command, want := range map[string]string{
		"exit 3":                     "exit status 3",
		`echo '{"queries_s": 3}'`:    "queries_s",
		`echo hello`:                 "no JSON object",
		`echo '{"train_img_s": -1}'`: "no rate",
	} {
		if _, err := Compare(context.Background(), r, Peer{Command: command}, 1, told); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", command, err, want)
		}
	}
}
