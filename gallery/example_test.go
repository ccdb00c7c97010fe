package gallery_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
)

// An index grows, is searched where it lies, and refuses another model's rows.
func ExampleAppend() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "birds.index")
	info := gallery.Info{Metric: "euclidean", Model: "fingerprint of the model", Dim: 2}
	for _, t := range []*gallery.Table{
		{Embeddings: &eval.Embeddings{X: []float32{0, 0, 1, 0}, N: 2, H: 2}, Paths: []string{"robin1.jpg", "robin2.jpg"}},
		{Embeddings: &eval.Embeddings{X: []float32{5, 5}, N: 1, H: 2}, Paths: []string{"wren.jpg"}, Classes: []string{"wren"}},
	} {
		rows, err := gallery.Append(path, info, t)
		if err != nil {
			panic(err)
		}
		fmt.Println(rows, "rows")
	}
	x, err := gallery.Open(path)
	if err != nil {
		panic(err)
	}
	query := &eval.Embeddings{X: []float32{5, 4}, N: 1, H: 2}
	hits, err := x.Search(context.Background(), reference.New(), query, info, 2, eval.SearchOptions{})
	if err != nil {
		panic(err)
	}
	for _, h := range hits[0] {
		fmt.Printf("%s %.2f\n", x.Path(h.Row), h.Distance)
	}
	info.Model = "fingerprint of another"
	_, err = x.Search(context.Background(), reference.New(), query, info, 2, eval.SearchOptions{})
	fmt.Println(errors.Is(err, gallery.ErrOtherModel))
	// Output:
	// 2 rows
	// 3 rows
	// wren.jpg 1.00
	// robin2.jpg 5.66
	// true
}
