package run

import (
	"fmt"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/finite"
)

// NotFiniteError says that a model whose weights are sound gives no finite embedding
// of an image.
type NotFiniteError struct {
	Image string
	Value float32
}

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("the embedding of %s holds %v: the network's numbers overflow on this image; where it computes in half precision, try full precision (fp32), else train it anew with a lower rate", e.Image, e.Value)
}

// CheckFinite returns a *NotFiniteError for an embedding that holds NaN or an infinity.
func CheckFinite(row []float32, image string) error {
	for _, v := range row {
		if !finite.Is(float64(v)) {
			return &NotFiniteError{image, v}
		}
	}
	return nil
}

// CheckFinite checks the embeddings of images of a set.
func (r *Rows) CheckFinite(set *data.Set) error {
	for i, item := range r.Items {
		if err := CheckFinite(r.Row(i), set.Where(item)); err != nil {
			return err
		}
	}
	return nil
}
