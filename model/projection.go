package model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/layers"
)

// Projection names the layers that stand between embeddings and the loss while a model is
// trained, and are no part of it (Chen et al. 2020, SimCLR, Sect. 4.2): the widths of their
// outputs, as in "2048,128" for a hidden layer of 2048 numbers with ReLU before a linear
// layer to the 128 that the loss compares. Empty for none.
type Projection string

// projectionPrefix begins the names of a projection's parameters.
const projectionPrefix = "training.projection."

// maxWidth is the largest width of a layer.
const maxWidth = 65536

// Widths are those of the layers' outputs; none without a projection.
func (p Projection) Widths() ([]int, error) {
	if p == "" {
		return nil, nil
	}
	var widths []int
	for _, text := range strings.Split(string(p), ",") {
		w, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || w < 1 || w > maxWidth {
			return nil, fmt.Errorf("projection %q: %q is not the width of a layer, from 1 to %d; write it as in 2048,128, hidden layers first", string(p), text, maxWidth)
		}
		widths = append(widths, w)
	}
	return widths, nil
}

// validateProjection checks the layers and what they go with.
func (s Spec) validateProjection() error {
	if s.ProjectionNorm != "" && s.ProjectionNorm != HeadNormBatch {
		return fmt.Errorf("unknown normalization of the projection %q (there is: %s, or nothing for none)", s.ProjectionNorm, HeadNormBatch)
	}
	widths, err := s.Projection.Widths()
	switch {
	case err != nil:
		return err
	case len(widths) == 0 && s.ProjectionNorm != "":
		return fmt.Errorf("normalization %q is of a projection, and there is none", s.ProjectionNorm)
	case len(widths) == 0:
		return nil
	case s.Normalization == NormCoordinates:
		return fmt.Errorf("normalization %q measures the coordinates of what is compared in training, which behind a projection are not those of embeddings: use %q or %q", NormCoordinates, NormRows, NormNone)
	case s.Scaling != ScaleFixed:
		return fmt.Errorf("scaling %q is of the rows that the loss compares, which behind a projection are not embeddings", s.Scaling)
	}
	return nil
}

// ComparedDim is the length of the rows that the loss compares: what a projection gives, or
// else Dim. Of a projection that Validate refuses it is Dim.
func (s Spec) ComparedDim() int {
	if widths, err := s.Projection.Widths(); err == nil && len(widths) > 0 {
		return widths[len(widths)-1]
	}
	return s.Dim
}

// Project adds the projection to raw embeddings (B, h), in training, and returns rows (B,
// ComparedDim) before Compared's Normalize. Its parameters are of the group layers.Training.
// A normalization (ProjectionNorm) stands between each hidden layer and its ReLU, as in the
// code of SimCLR and BYOL, and always uses the statistics of the batch. Weights start
// He-normal over fan-in, with zero biases.
func (m *Model) Project(g *layers.Graph, raw *layers.Node) *layers.Node {
	widths, err := m.Spec.Projection.Widths()
	if err != nil {
		g.Fail("projection", err)
		return nil
	}
	defer g.In(layers.Training)()
	x := raw
	for i, w := range widths {
		name := fmt.Sprintf("%sfc%d", projectionPrefix, i+1)
		x = m.linear(g, name, x, w, layers.HeNormal(width(x)))
		if i == len(widths)-1 {
			break
		}
		if m.Spec.ProjectionNorm == HeadNormBatch {
			x = g.BatchNormModule(fmt.Sprintf("%snorm%d", projectionPrefix, i+1), x, headEps, headMomentum, false)
		}
		x = g.ReLU(name+".relu", x)
	}
	return x
}

// Compared returns the model whose rows the loss compares, to normalize them with: m, or
// behind a projection one whose embeddings have ComparedDim numbers. It shares m's parameters.
func (m *Model) Compared() *Model {
	c := *m
	c.Spec.Dim = m.Spec.ComparedDim()
	return &c
}
