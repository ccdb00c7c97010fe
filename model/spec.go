package model

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
)

// Spec is everything about a model but its numbers. It travels in the model
// file, so that a file alone is enough to embed and to compare.
type Spec struct {
	Backbone string `json:"backbone"`
	// Input is what the backbone is fed.
	Input backbone.Preprocessing `json:"input"`
	// Pool turns the feature map into a vector.
	Pool Pool `json:"pool"`
	// Dim is h, the length of an embedding.
	Dim int `json:"dim"`
	// Normalization comes between the head and the metric.
	Normalization Normalization `json:"normalization"`
	// Scale is c: rows are brought to length c*sqrt(h) for BRM and to c for
	// the other metrics. Without normalisation it has no effect.
	Scale float64 `json:"scale"`
	// Metric compares embeddings.
	Metric layers.Metric `json:"metric"`
}

// Pool names a global pooling.
type Pool string

// The poolings of the head.
const (
	PoolAvg    Pool = "avg"
	PoolMax    Pool = "max"
	PoolAvgMax Pool = "avg+max"
)

// Normalization names what is done to an embedding before the metric.
type Normalization string

const (
	// NormNone leaves embeddings as the head makes them.
	NormNone Normalization = "none"
	// NormRows brings every embedding to one length.
	NormRows Normalization = "rows"
)

// Pools and Normalizations list the allowed values.
var (
	Pools          = []string{string(PoolAvg), string(PoolMax), string(PoolAvgMax)}
	Normalizations = []string{string(NormNone), string(NormRows)}
)

// RowLength is the length to which NormRows brings an embedding.
//
// For BRM it is c*sqrt(h), so that coordinate differences are of the order of
// c whatever the dimension: at unit length they would be about 1/sqrt(h), where
// every restriction is linear and BRM is Euclidean.
func (s Spec) RowLength() float64 {
	if s.Metric.Kind == layers.BRM {
		return s.Scale * math.Sqrt(float64(s.Dim))
	}
	return s.Scale
}

// Validate checks every field and names the one at fault.
func (s Spec) Validate() error {
	if _, err := backbone.New(s.Backbone); err != nil {
		return err
	}
	if s.Input.Size < 1 || s.Input.Size > 4096 {
		return fmt.Errorf("input size %d is not between 1 and 4096 pixels", s.Input.Size)
	}
	if s.Input.Resize != 0 && s.Input.Resize < s.Input.Size {
		return fmt.Errorf("resizing to %d pixels before cutting out %d", s.Input.Resize, s.Input.Size)
	}
	if !(s.Input.Range > 0) {
		return fmt.Errorf("preprocessing divides by a range of %v", s.Input.Range)
	}
	for _, v := range s.Input.Std {
		if !(v > 0) {
			return fmt.Errorf("preprocessing has a standard deviation of %v", v)
		}
	}
	if !contains(Pools, string(s.Pool)) {
		return fmt.Errorf("unknown pooling %q (there is: %s)", s.Pool, strings.Join(Pools, ", "))
	}
	if s.Dim < 1 || s.Dim > 65536 {
		return fmt.Errorf("embedding dimension %d is not between 1 and 65536", s.Dim)
	}
	if !contains(Normalizations, string(s.Normalization)) {
		return fmt.Errorf("unknown normalization %q (there is: %s)", s.Normalization, strings.Join(Normalizations, ", "))
	}
	if !(s.Scale > 0) || math.IsInf(s.Scale, 0) {
		return fmt.Errorf("scale %v is not a positive number", s.Scale)
	}
	return s.Metric.Validate()
}

// String is the specification as JSON, as it stands in a model file.
func (s Spec) String() string {
	b, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
