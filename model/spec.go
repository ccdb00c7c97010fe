package model

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// Spec is everything about a model but its numbers. It travels in the model
// file, so that a file alone is enough to embed and to compare.
type Spec struct {
	// Backbone is what backbone.New takes: a name, and options after a colon.
	Backbone string `json:"backbone"`
	// Flow, if not empty, is what backbone.ParseFlow takes: geometry flow layers,
	// which mix the images of a batch in training. Embeddings of single images do
	// without.
	Flow string `json:"flow,omitempty"`
	// Input is what the backbone is fed.
	Input backbone.Preprocessing `json:"input"`
	// Pool turns the feature map, or the tokens, into a vector.
	Pool Pool `json:"pool"`
	// HeadNorm normalizes that vector before the linear layer.
	HeadNorm HeadNorm `json:"head_norm"`
	// Head turns it into the embedding.
	Head Head `json:"head"`
	// Dropout is the share of the numbers that hidden layers of the head give, or where
	// it has none that it is given, that a step of training leaves out; 0 for none.
	Dropout float64 `json:"dropout,omitempty"`
	// DropPath is the probability with which an image skips the last block of a
	// transformer or of ConvNeXt in a step of training; that of the blocks before falls
	// evenly to 0 at the first. 0 for none.
	DropPath float64 `json:"drop_path,omitempty"`
	// LoRA, if its rank is not 0, is trained in place of a transformer's weights: see Freeze.
	// A model's file has the weights with what it adds, and a specification without it.
	LoRA layers.LoRA `json:"lora,omitzero"`
	// Dim is h, the length of an embedding. Without a linear layer it is the
	// number of the backbone's features.
	Dim int `json:"dim"`
	// Projection stands between embeddings and the loss in training alone, ProjectionNorm
	// normalizes its hidden layers: HeadNormBatch, or empty for none. Both say how the model
	// was trained, and change nothing of what it gives.
	Projection     Projection `json:"projection,omitempty"`
	ProjectionNorm HeadNorm   `json:"projection_norm,omitempty"`
	// Normalization comes between the head and the metric.
	Normalization Normalization `json:"normalization"`
	// Scale is c: rows are brought to length c*sqrt(h) for BRM and to c for
	// the other metrics, coordinates to deviations with which rows have about
	// that length. With NormNone and NormDistance rows do not depend on it.
	Scale float64 `json:"scale"`
	// Scaling says how c changes in training, from Scale on; empty if it does not.
	Scaling Scaling `json:"scaling,omitempty"`
	// Metric compares embeddings.
	Metric metric.Metric `json:"metric"`
	// Levels, if it names blocks, makes embeddings of several levels of the network.
	Levels Levels `json:"levels,omitzero"`
}

// DefaultSpec is what one uses with a backbone without thought: its own preprocessing
// and pooling, a linear head of 128 numbers, rows of one length and BRM.
func DefaultSpec(net string) (Spec, error) {
	b, err := backbone.New(net)
	if err != nil {
		return Spec{}, err
	}
	return Spec{
		Backbone: net, Input: b.Preprocessing(), Pool: DefaultPool(b),
		HeadNorm: HeadNormNone, Head: HeadLinear, Dim: 128,
		Normalization: NormRows, Scale: 1,
		Metric: metric.Metric{Kind: metric.BRM, Restriction: metric.Sigmoid, P: 2},
	}, nil
}

// Pool names a global pooling.
type Pool string

// The poolings.
const (
	PoolAvg    Pool = "avg"
	PoolMax    Pool = "max"
	PoolAvgMax Pool = "avg+max" // the sum of both
	PoolCls    Pool = "cls"     // a transformer's class token
	PoolNone   Pool = "none"    // of rows of numbers, which are vectors already
)

// HeadNorm names a normalization before each linear layer of the head, but for the
// second one of a residual head.
type HeadNorm string

// The normalizations of the head.
const (
	HeadNormNone  HeadNorm = "none"
	HeadNormBatch HeadNorm = "batch"
	HeadNormLayer HeadNorm = "layer"
)

// Normalization names what is done to an embedding before the metric.
type Normalization string

const (
	// NormNone leaves embeddings as the head makes them.
	NormNone Normalization = "none"
	// NormRows brings every embedding to one length.
	NormRows Normalization = "rows"
	// NormCoordinates brings every coordinate to mean 0 and one deviation over
	// images: a batch normalization without gamma and beta.
	NormCoordinates Normalization = "coordinates"
	// NormDistance divides the embeddings of a batch by the mean distance between them,
	// in training alone (Kim and Park 2021). It is for losses on pairs.
	NormDistance Normalization = "distance"
)

// Pools lists the values of Spec.Pool.
func Pools() []string {
	return []string{string(PoolAvg), string(PoolMax), string(PoolAvgMax), string(PoolCls), string(PoolNone)}
}

// HeadNorms lists the values of Spec.HeadNorm.
func HeadNorms() []string {
	return []string{string(HeadNormNone), string(HeadNormBatch), string(HeadNormLayer)}
}

// Normalizations lists the values of Spec.Normalization.
func Normalizations() []string {
	return []string{string(NormNone), string(NormRows), string(NormCoordinates), string(NormDistance)}
}

// DefaultPool is what one uses with a backbone: the class token of a
// transformer, nothing for rows, else the sum of average and maximum.
func DefaultPool(net backbone.Backbone) Pool {
	if _, rows := backbone.TakesRows(net); rows {
		return PoolNone
	}
	if net.Tokens() {
		return PoolCls
	}
	return PoolAvgMax
}

// RowLength is the length to which NormRows brings an embedding, and
// NormCoordinates the root of its mean square.
//
// For BRM it is c*sqrt(h), so that coordinate differences are of the order of
// c whatever the dimension: at unit length they would be about 1/sqrt(h), where
// every restriction is linear and BRM is Euclidean. For Manhattan it is c/sqrt(2h/pi), at
// which the magnitudes of coordinates add up to about c.
func (s Spec) RowLength() float64 {
	return s.Scale * s.unitLength()
}

// unitLength is RowLength at a scale of 1.
func (s Spec) unitLength() float64 {
	switch h := float64(s.Dim); s.Metric.Kind {
	case metric.BRM:
		return math.Sqrt(h)
	case metric.Manhattan:
		return 1 / math.Sqrt(2*h/math.Pi)
	}
	return 1
}

// Validate checks every field and names the one at fault.
func (s Spec) Validate() error {
	net, err := backbone.New(s.Backbone)
	if err != nil {
		return err
	}
	if s.Flow != "" {
		if net.Tokens() {
			return fmt.Errorf("geometry flow is for convolutional networks, backbone %s has tokens", s.Backbone)
		}
		if _, rows := backbone.TakesRows(net); rows {
			return fmt.Errorf("geometry flow is for convolutional networks, backbone %s takes rows of numbers", s.Backbone)
		}
		if _, err := backbone.ParseFlow(s.Flow); err != nil {
			return err
		}
	}
	if err := s.validateInput(net); err != nil {
		return err
	}
	if err := s.validateLoRA(net); err != nil {
		return err
	}
	if err := s.validateHead(net); err != nil {
		return err
	}
	if err := oneOf("normalization", string(s.Normalization), Normalizations()); err != nil {
		return err
	}
	if !(s.Scale > 0) || math.IsInf(s.Scale, 0) {
		return fmt.Errorf("scale %v is not a positive number", s.Scale)
	}
	if err := s.validateLevels(net); err != nil {
		return err
	}
	if err := s.Metric.Validate(); err != nil && s.Metric.Kind != metric.Links {
		return err
	}
	if err := s.validateProjection(); err != nil {
		return err
	}
	return s.validateScaling()
}

func (s Spec) validateInput(net backbone.Backbone) error {
	if _, rows := backbone.TakesRows(net); rows {
		if s.Input != (backbone.Preprocessing{}) {
			return fmt.Errorf("backbone %s takes rows of numbers: there are no pictures to bring to a size or a range", s.Backbone)
		}
		return nil
	}
	if s.Input.Size < 1 || s.Input.Size > 4096 {
		return fmt.Errorf("input size %d is not between 1 and 4096 pixels", s.Input.Size)
	}
	if err := net.CheckSize(s.Input.Size); err != nil {
		return fmt.Errorf("input size: %w", err)
	}
	if s.Input.Resize != 0 && s.Input.Resize < s.Input.Size {
		return fmt.Errorf("resizing to %d pixels before cutting out %d", s.Input.Resize, s.Input.Size)
	}
	if err := s.validateCrops(); err != nil {
		return err
	}
	if !(s.Input.Range > 0) {
		return fmt.Errorf("preprocessing divides by a range of %v", s.Input.Range)
	}
	for _, v := range s.Input.Std {
		if !(v > 0) {
			return fmt.Errorf("preprocessing has a standard deviation of %v", v)
		}
	}
	return nil
}

func (s Spec) validateCrops() error {
	switch in := s.Input; {
	case in.Crops == 0:
		return nil
	case in.Crops != 5 && in.Crops != 10:
		return fmt.Errorf("evaluation on %d crops: want 5, 10 (with mirror images), or 0 for the middle alone", in.Crops)
	case s.Flow != "":
		return fmt.Errorf("evaluation on %d crops is not for networks with geometry flow, which measure the images of a batch beside each other", in.Crops)
	case in.Stretch || in.Resize <= in.Size:
		return fmt.Errorf("evaluation on %d crops of %d pixels needs larger pictures to cut them out of: resize these to more than that, as to %d", in.Crops, in.Size, (8*in.Size+3)/7)
	}
	return nil
}

func (s Spec) validateHead(net backbone.Backbone) error {
	if err := oneOf("pooling", string(s.Pool), Pools()); err != nil {
		return err
	}
	width, rows := backbone.TakesRows(net)
	if none := s.Pool == PoolNone; none != rows {
		if none {
			return fmt.Errorf("pooling %q is for rows of numbers, backbone %s has images: use %q", s.Pool, s.Backbone, DefaultPool(net))
		}
		return fmt.Errorf("pooling %q is for images, backbone %s has rows of numbers: use %q", s.Pool, s.Backbone, PoolNone)
	}
	if cls := s.Pool == PoolCls; cls != net.Tokens() {
		if cls {
			return fmt.Errorf("pooling %q is for transformers, backbone %s has a feature map", s.Pool, s.Backbone)
		}
		return fmt.Errorf("pooling %q is for feature maps, backbone %s has tokens: use %q", s.Pool, s.Backbone, PoolCls)
	}
	if _, err := s.Head.parse(); err != nil {
		return err
	}
	if !(s.Dropout >= 0 && s.Dropout < 1) {
		return fmt.Errorf("dropout %v is not a share from 0 to less than 1", s.Dropout)
	}
	if err := oneOf("normalization of the head", string(s.HeadNorm), HeadNorms()); err != nil {
		return err
	}
	if !(s.DropPath >= 0 && s.DropPath < 1) {
		return fmt.Errorf("drop path %v is not a share from 0 to less than 1", s.DropPath)
	}
	if s.DropPath != 0 && !backbone.DropsPaths(net) {
		return fmt.Errorf("drop path %v is for transformers and ConvNeXt: backbone %s has no paths to drop", s.DropPath, s.Backbone)
	}
	unknown := rows && width == 0 && s.Head == HeadNone && s.Dim == 0
	if (s.Dim < 1 || s.Dim > 65536) && !unknown {
		return fmt.Errorf("embedding dimension %d is not between 1 and 65536", s.Dim)
	}
	if s.Head != HeadNone {
		return nil
	}
	if s.Dropout != 0 {
		return fmt.Errorf("dropout %v needs a linear layer behind it", s.Dropout)
	}
	if s.HeadNorm != HeadNormNone {
		return fmt.Errorf("a %s normalization of the head needs a linear layer behind it", s.HeadNorm)
	}
	if s.Dim != net.Channels() {
		return fmt.Errorf("without a linear layer the embedding has the %d features of backbone %s, not %d", net.Channels(), s.Backbone, s.Dim)
	}
	return nil
}

// String is the specification as JSON, as it stands in a model file.
func (s Spec) String() string {
	b, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func oneOf(what, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("unknown %s %q (there is: %s)", what, value, strings.Join(allowed, ", "))
}
