package run

import "github.com/vernier-ml/vernier/layers"

// EpochRecord is what an epoch came to.
type EpochRecord struct {
	Event   string  `json:"event"` // "epoch"
	Epoch   int     `json:"epoch"`
	Steps   int     `json:"steps"` // over the whole run
	Loss    float64 `json:"loss"`  // mean over the epoch's steps
	Skipped int     `json:"skipped"`
	// DistanceMean and DistanceStd are of the metric's values between different
	// images of the last batch: a collapsed embedding shows here first.
	DistanceMean float64 `json:"distance_mean"`
	DistanceStd  float64 `json:"distance_std"`
	// Recall1 is Recall@1 in percent on the validation classes, -1 without any.
	Recall1 float64 `json:"validation_recall@1"`
	// MAPAtR is MAP@R in percent on the validation classes, -1 without any. It
	// decides which epoch is best: it looks at all images of a class and so
	// swings less than Recall@1 (Musgrave, Belongie and Lim 2020, Sect. 3.1).
	MAPAtR float64 `json:"validation_map@r"`
	Best   bool    `json:"best"` // the best epoch so far
	// EMA holds the same of the model with averaged weights; nil without Config.EMA.
	EMA *EMARecord `json:"ema,omitempty"`
	// Flow is what the geometry flow layers found in the last batch.
	Flow []layers.FlowStats `json:"geometry_flow,omitempty"`
	// Idle is the share of steps in which no term of the loss was active.
	Idle float64 `json:"idle"`
	// Saturated is the share of coordinates between images of the last batch at
	// which the restriction is beyond 95% of its bound; 0 for other metrics.
	Saturated float64 `json:"saturated"`
	// Scale is that of the embeddings at the end of the epoch where training changes it
	// (model.Model.Scale); 0 where it is fixed.
	Scale float64 `json:"scale,omitempty"`
	// Test holds figures of the test classes, which decide nothing, where they
	// were asked for.
	Test *TestRecord `json:"test,omitempty"`
}

// EMARecord are the figures of an epoch's averaged weights, as in EpochRecord.
type EMARecord struct {
	Recall1 float64     `json:"validation_recall@1"`
	MAPAtR  float64     `json:"validation_map@r"`
	Test    *TestRecord `json:"test,omitempty"`
}

// Candidate returns the figures by which the epoch may be the best: of the model with averaged
// weights, where there are such and their MAP@R is not less, else of the model as it was
// trained.
func (r EpochRecord) Candidate() (recall1, mapAtR float64, averaged bool) {
	if r.EMA != nil && r.EMA.MAPAtR >= r.MAPAtR {
		return r.EMA.Recall1, r.EMA.MAPAtR, true
	}
	return r.Recall1, r.MAPAtR, false
}

// TestRecord are figures on the test classes in the middle of a run, of each image
// alone. They choose nothing.
type TestRecord struct {
	TestFigures
	// Shuffled is of batches in drawn order, through geometry flow.
	Shuffled *TestFigures `json:"shuffled,omitempty"`
}

// TestFigures are those of a point of a curve. NMI and F1 are there if
// Options.AllTestFigures asks for them.
type TestFigures struct {
	Recall1 float64 `json:"recall@1"` // percent, as MAP@R
	MAPAtR  float64 `json:"map@r"`
	NMI     float64 `json:"nmi,omitempty"`
	F1      float64 `json:"f1,omitempty"`
}
