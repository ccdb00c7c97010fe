package model_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
)

// A model file is enough to embed images and to compare them.
func Example() {
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		panic(err)
	}
	defer eng.Close()
	net, err := backbone.New("convnet")
	if err != nil {
		panic(err)
	}
	m, err := model.New(eng, model.Spec{
		Backbone: "convnet", Input: net.Preprocessing().WithSize(16), Pool: model.DefaultPool(net),
		HeadNorm: model.HeadNormNone, Head: model.HeadLinear, Dim: 32, Normalization: model.NormRows, Scale: 1,
		Metric: metric.Metric{Kind: metric.BRM, Restriction: metric.Sigmoid, P: 2},
	}, 1)
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "birds.safetensors")
	m.Threshold = &model.Threshold{Distance: 0.25, Rule: "far=0.001", FAR: 0.001, FRR: 0.1}
	if err := m.Save(path, nil); err != nil {
		panic(err)
	}

	loaded, _, err := model.Load(path, eng)
	if err != nil {
		panic(err)
	}
	embedder, err := loaded.NewEmbedder(2)
	if err != nil {
		panic(err)
	}
	defer embedder.Close()
	pixels := make([]float32, 2*3*16*16) // two images, prepared: one dark, one bright
	for i := range pixels {
		pixels[i] = float32(2*(i/(3*16*16)) - 1)
	}
	rows, err := embedder.Embed(nil, pixels)
	if err != nil {
		panic(err)
	}
	h := loaded.Spec.Dim
	itself, err := eval.Distance(loaded.Spec.Metric, rows[:h], rows[:h])
	if err != nil {
		panic(err)
	}
	other, err := eval.Distance(loaded.Spec.Metric, rows[:h], rows[h:])
	if err != nil {
		panic(err)
	}
	fmt.Println(len(rows)/h, "rows of", h, "numbers, compared by", loaded.Spec.Metric)
	fmt.Println("an image is the same as itself:", itself <= loaded.Threshold.Distance, "and farther from the other:", other > itself)
	// Output:
	// 2 rows of 32 numbers, compared by brm
	// an image is the same as itself: true and farther from the other: true
}
