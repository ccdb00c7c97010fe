package model

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/metric"
)

// realWeights names a folder with public files of weights.
const realWeights = "VERNIER_WEIGHTS"

// portable returns the n numbers in [-1, 1) that follow from a seed and a name, as in
// the reference numbers of package backbone.
func portable(seed, name string, n int) []float32 {
	key := uint64(0xcbf29ce484222325)
	for _, b := range []byte(seed + "/" + name) {
		key = (key ^ uint64(b)) * 0x100000001b3
	}
	u := make([]float32, n)
	for i := range u {
		s := key + uint64(i+1)*0x9e3779b97f4a7c15
		s = (s ^ s>>30) * 0xbf58476d1ce4e5b9
		s = (s ^ s>>27) * 0x94d049bb133111eb
		s ^= s >> 31
		u[i] = float32(float64(s>>40)/(1<<23) - 1)
	}
	return u
}

// Features of public weights are those that the network's own program gives in float64
// (efficientnet-lite-pytorch 0.1.0, mean over positions of the last map).
func TestPublicWeightsGiveTheFeaturesOfTheirOwnProgram(t *testing.T) {
	folder := os.Getenv(realWeights)
	if folder == "" {
		t.Skipf("skipped: no public weights. Set %s to a folder with files such as efficientnet-lite0-57934424.pth", realWeights)
	}
	cases, err := filepath.Glob(filepath.Join("testdata", "real", "*.json"))
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range cases {
		var c struct {
			File, SHA256, Backbone, Input, Seed string
			Side                                int
			Pooled                              []float64 `json:"pooled_avg"`
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.Backbone, func(t *testing.T) {
			file := filepath.Join(folder, c.File)
			content, err := os.ReadFile(file)
			if err != nil {
				t.Skip(err)
			}
			if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != c.SHA256 {
				t.Fatalf("%s has the digest %s, want %s", file, got, c.SHA256)
			}
			eng, err := cpu.New(cpu.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer eng.Close()
			spec, err := DefaultSpec(c.Backbone)
			if err != nil {
				t.Fatal(err)
			}
			spec.Pool, spec.Head, spec.HeadNorm, spec.Normalization, spec.Dim = PoolAvg, HeadNone, HeadNormNone, NormNone, len(c.Pooled)
			spec.Metric = metric.Metric{Kind: metric.Cosine}
			m, err := New(eng, spec, 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.LoadWeights(file, ""); err != nil {
				t.Fatal(err)
			}
			e, err := m.NewEmbedder(1)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			got, err := e.Embed(nil, portable(c.Seed, c.Input, 3*c.Side*c.Side))
			if err != nil {
				t.Fatal(err)
			}
			most, worst := 0., 0.
			for i, want := range c.Pooled {
				most = max(most, math.Abs(want))
				worst = max(worst, math.Abs(float64(got[i])-want))
			}
			t.Logf("largest difference %.2g of the largest feature %.3g", worst/most, most)
			if !(worst <= 1e-4*most) {
				t.Errorf("features differ by %.3g of %.3g", worst, most)
			}
		})
	}
}
