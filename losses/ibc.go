package losses

import (
	"fmt"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses/intrabatch"
)

// IBC learns with intra-batch connections (Seidenschwarz, Elezi and Leal-Taixé 2021): while a
// model is trained, layers of attention let each embedding of a batch see all others, and a
// linear classifier of what they give, as one of the embeddings themselves, is compared with
// the labels:
//
//	CE(a/Temperature) + CE(g/Temperature)
//
// a are the logits of the embeddings before normalization, g those behind the attention, and
// CE is the mean cross-entropy with 1-Smoothing + Smoothing/C as the target of the own class
// and Smoothing/C as that of each other. intrabatch.Spec says what the layers are. Rows are
// compared by Euclidean distance of length-1 rows afterwards.
//
// The zero value is the authors' for CUB: 1 layer of 2 heads, Temperature 0.2, Smoothing 0.1,
// Dropout 0.1. Where a field is set, Layers 0 means 1, Heads 0 means 2 and Temperature 0
// means 0.2.
type IBC struct {
	Layers, Heads int
	Width         int  // of the layers; 0 for that of the embeddings
	Joined        bool // what every layer gives is classified, not the last alone
	Temperature   float64
	Smoothing     float64
	Dropout       float64
}

// Columns is Classes.
func (*IBC) Columns() Columns { return Classes }

// Eval is ErrLayered.
func (*IBC) Eval(*Matrix, []float64) (Result, error) {
	return Result{}, fmt.Errorf("losses: ibc: %w", ErrLayered)
}

// settled returns the loss that l stands for.
func (l *IBC) settled() IBC {
	own := *l
	if own == (IBC{}) {
		own.Smoothing, own.Dropout = .1, .1
	}
	if own.Layers == 0 {
		own.Layers = 1
	}
	if own.Heads == 0 {
		own.Heads = 2
	}
	if own.Temperature == 0 {
		own.Temperature = .2
	}
	return own
}

// Build implements Layered.
func (l *IBC) Build(g *layers.Graph, in LayerInput) []LayerMatrix {
	own := l.settled()
	if !(own.Temperature > 0) || !(own.Smoothing >= 0 && own.Smoothing < 1) {
		g.Fail("losses: ibc", fmt.Errorf("field Temperature is %v and Smoothing %v: want a Temperature above 0, and 0 <= Smoothing < 1", own.Temperature, own.Smoothing))
		return nil
	}
	spec := intrabatch.Spec{Classes: in.Classes, Layers: own.Layers, Heads: own.Heads, Width: own.Width, Joined: own.Joined, Dropout: own.Dropout}
	logits := spec.Add(g, in.Prefix+"ibc.", in.Raw)
	// The smoothing of ProxyNCA is what the other classes have together.
	others := own.Smoothing * float64(in.Classes-1) / float64(max(in.Classes, 1))
	entropy := func(name string, values *layers.Node) LayerMatrix {
		return LayerMatrix{Name: name, Values: values, Similarity: true, Loss: &ProxyNCA{Scale: 1 / own.Temperature, Smoothing: others}}
	}
	return []LayerMatrix{entropy("embeddings", logits.Embeddings), entropy("batch", logits.Batch)}
}

func ibcEntry(o Options) entry {
	return entry{
		meaning: "classification with attention among the images of a batch, in training only (intra-batch connections)",
		source:  "Seidenschwarz, Elezi and Leal-Taixé 2021",
		columns: Classes,
		layered: true,
		settings: []setting{
			whole("layers", "of attention, one behind the other", 1, 1, 64),
			whole("heads", "of the attention", 2, 1, 1024),
			whole("width", "of the layers; 0 for that of the embeddings", 0, 0, 65536),
			yesNo("joined", "classify what every layer gives, not the last alone", false),
			positive("temperature", "divides the logits", 0.2),
			between("smoothing", "share of the target that all classes have in equal parts", 0.1, 0, 1, false, true),
			between("dropout", "share of weights of the attention, of its branches and of the MLP's middle that a step leaves out", 0.1, 0, 1, false, true),
		},
		build: func(v values) (Loss, error) {
			l := &IBC{
				Layers: v.int("layers"), Heads: v.int("heads"), Width: v.int("width"), Joined: v.on("joined"),
				Temperature: v.real("temperature"), Smoothing: v.real("smoothing"), Dropout: v.real("dropout"),
			}
			if h := l.width(v.dim); h > 0 && h%l.Heads != 0 {
				return nil, fmt.Errorf("heads = %d do not divide rows of %d numbers: take a number of heads that does, or another width", l.Heads, h)
			}
			return l, nil
		},
	}
}

// width is that of the layers over embeddings of a dimension, 0 where that is not known.
func (l *IBC) width(dim int) int {
	if l.Width > 0 {
		return l.Width
	}
	return dim
}
