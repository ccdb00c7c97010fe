package vernier_test

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/vernier-ml/vernier"
	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
)

// From an image to its neighbors: the birds here are drawn, and the network that
// compares them is one that has not been trained.
func Example() {
	folder := makeBirds()
	defer os.RemoveAll(folder)
	in := func(name string) string { return filepath.Join(folder, name) }
	ctx := context.Background()

	m, err := vernier.Load(in("birds.safetensors"))
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	index, err := m.OpenIndex(in("birds.index"))
	if err != nil {
		log.Fatal(err)
	}
	near, err := index.Search(ctx, vernier.File(in("robin2.png")), 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range near {
		fmt.Println(n.Name, n.Class)
	}
	same, err := m.Same(ctx, vernier.File(in("robin1.png")), vernier.File(in("robin2.png")))
	fmt.Println("two robins are the same:", same, err)
	// Output:
	// robin2.png robin
	// robin1.png robin
	// two robins are the same: true <nil>
}

// Images may come from files, from readers, and from a program that drew them.
func ExampleModel_Embed() {
	folder := makeBirds()
	defer os.RemoveAll(folder)
	m, err := vernier.Load(filepath.Join(folder, "birds.safetensors"))
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	file, err := os.Open(filepath.Join(folder, "wren1.png"))
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	rows, err := m.Embed(context.Background(), vernier.File(filepath.Join(folder, "wren1.png")), vernier.Reader(file), vernier.Picture(drawBird(0, 1)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(rows), "rows of", m.Dim(), "numbers")
	itself, err := m.EmbeddingDistance(rows[0], rows[1])
	if err != nil {
		log.Fatal(err)
	}
	other, err := m.EmbeddingDistance(rows[0], rows[2])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("a wren from itself:", itself, "and farther from a robin:", other > itself)
	// Output:
	// 3 rows of 8 numbers
	// a wren from itself: 0 and farther from a robin: true
}

// kinds of birds, which differ in the width of their stripes.
var kinds = []string{"robin", "wren", "finch"}

// drawBird draws the number-th bird of a kind.
func drawBird(kind, number int) image.Image {
	img := image.NewGray(image.Rect(0, 0, 24, 20))
	for y := range 20 {
		for x := range 24 {
			if (x+number)/(1<<kind)%2 == 0 {
				img.SetGray(x, y, color.Gray{Y: uint8(200 - 3*y)})
			}
		}
	}
	return img
}

// makeBirds returns a new folder with images of birds, KIND1.png and KIND2.png, a model,
// birds.safetensors, and an index of the images, birds.index.
func makeBirds() string {
	folder, err := os.MkdirTemp("", "birds")
	if err == nil {
		err = fillBirds(folder)
	}
	if err != nil {
		log.Fatal(err)
	}
	return folder
}

func fillBirds(folder string) error {
	m, err := newBirdModel()
	if err != nil {
		return err
	}
	path := filepath.Join(folder, "birds.safetensors")
	if err := m.Save(path, nil); err != nil {
		return err
	}
	v, err := vernier.Load(path)
	if err != nil {
		return err
	}
	defer v.Close()
	var entries []vernier.Entry
	for k, kind := range kinds {
		for number := 1; number <= 2; number++ {
			name := fmt.Sprintf("%s%d.png", kind, number)
			path := filepath.Join(folder, name)
			if err := writePNG(path, drawBird(k, number)); err != nil {
				return err
			}
			entries = append(entries, vernier.Entry{Image: vernier.File(path), Name: name, Class: kind})
		}
	}
	return v.AppendIndex(context.Background(), filepath.Join(folder, "birds.index"), entries...)
}

// newBirdModel returns an untrained model with a threshold.
func newBirdModel() (*model.Model, error) {
	net, err := backbone.New("convnet")
	if err != nil {
		return nil, err
	}
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		return nil, err
	}
	m, err := model.New(eng, model.Spec{
		Backbone: "convnet", Input: net.Preprocessing().WithSize(16), Pool: model.DefaultPool(net),
		HeadNorm: model.HeadNormNone, Head: model.HeadLinear, Dim: 8, Normalization: model.NormRows, Scale: 1,
		Metric: metric.Metric{Kind: metric.Euclidean},
	}, 1)
	if err == nil {
		m.Threshold = &model.Threshold{Distance: 0.5, Rule: "far=0.01", FAR: 0.01, FRR: 0.1}
	}
	return m, err
}

func writePNG(path string, img image.Image) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, fs.FileMode(0o644))
	if err != nil {
		return err
	}
	if err := png.Encode(f, img); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
