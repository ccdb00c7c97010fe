package weights_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/vernier-ml/vernier/weights"
)

// A small network: one convolution and a classifier that will be left behind.
func exampleFile(path string) error {
	var tensors []*weights.Tensor
	for _, s := range []weights.Spec{
		{Name: "conv.weight", Shape: []int{2, 1, 1, 1}},
		{Name: "conv.bias", Shape: []int{2}},
		{Name: "fc.weight", Shape: []int{3, 2}},
	} {
		n := 1
		for _, d := range s.Shape {
			n *= d
		}
		t, err := weights.FromFloat32(s.Name, s.Shape, make([]float32, n))
		if err != nil {
			return err
		}
		tensors = append(tensors, t)
	}
	return weights.WriteSafetensors(path, tensors, map[string]string{"epoch": "40"})
}

func Example() {
	dir, err := os.MkdirTemp("", "weights")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "net.safetensors")
	if err := exampleFile(path); err != nil {
		log.Fatal(err)
	}

	f, err := weights.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println(f.Format(), f.Metadata()["epoch"])
	for _, t := range f.Tensors() {
		fmt.Println(t.Name, t.DType, t.Shape)
	}
	// Output:
	// safetensors 40
	// conv.weight float32 [2 1 1 1]
	// conv.bias float32 [2]
	// fc.weight float32 [3 2]
}

// Everything that does not fit is reported at once.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "weights")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "net.safetensors")
	if err := exampleFile(path); err != nil {
		log.Fatal(err)
	}
	f, err := weights.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	want := []weights.Spec{
		{Name: "conv1.weight", Shape: []int{2, 1, 1, 1}},
		{Name: "conv.bias", Shape: []int{4}},
	}
	_, _, err = weights.Load(f, want, weights.Rules{Ignore: []string{"fc.*"}})
	fmt.Println(strings.ReplaceAll(err.Error(), path, "net.safetensors"))

	want = []weights.Spec{
		{Name: "conv.weight", Shape: []int{2, 1, 1, 1}},
		{Name: "conv.bias", Shape: []int{2}},
	}
	values, match, err := weights.Load(f, want, weights.Rules{Ignore: []string{"fc.*"}})
	fmt.Println(len(values), match.Ignored, err)
	// Output:
	// weights: net.safetensors does not fit the network:
	//   1 missing:
	//     conv1.weight [2 1 1 1] (the file has conv.weight)
	//   1 with another shape:
	//     conv.bias: [2] in the file, [4] wanted
	//   1 in the file that the network does not have:
	//     conv.weight
	// 2 [fc.weight] <nil>
}

// A Writer takes one tensor at a time, so that a large table need not be in
// memory beside its copy.
func ExampleCreateNPZ() {
	dir, err := os.MkdirTemp("", "weights")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "embeddings.npz")

	w, err := weights.CreateNPZ(path)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	embeddings, err := weights.FromFloat32("embeddings", []int{2, 3}, []float32{1, 2, 3, 4, 5, 6})
	if err != nil {
		log.Fatal(err)
	}
	paths, err := weights.FromStrings("paths", []string{"a.jpg", "b.jpg"})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range []*weights.Tensor{embeddings, paths} {
		if err := w.Write(t); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := weights.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println(f.Names())
	// Output: [embeddings paths]
}
