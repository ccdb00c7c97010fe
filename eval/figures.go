package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Figures are what is reported of one set of embeddings. In JSON they are one
// object: "recall@K" in percent for each K, "nmi", "f1", "distance", "split",
// "queries", and what the fields below say. All but recall are from 0 to 1.
// A figure that is undefined for the set (no clustering asked for, an unused
// dimension) is left out.
type Figures struct {
	Recall   []Recall `json:"-"` // ascending K as asked
	NMI      *float64 `json:"nmi,omitempty"`
	F1       *float64 `json:"f1,omitempty"` // pairwise
	Distance string   `json:"distance"`
	Split    string   `json:"split"`
	Queries  int      `json:"queries"` // lone ones included
	// Gallery is the number of rows that were searched, where they are others.
	Gallery int `json:"gallery,omitempty"`
	// TrapezoidMAP is the MAP of Market-1501's code, with groups; see
	// Retrieval.TrapezoidPrecision.
	TrapezoidMAP *float64 `json:"map_trapezoid,omitempty"`

	Classes   int `json:"classes"`
	Dimension int `json:"dimension"`
	// LoneQueries have no other sample of their class: misses in recall, left
	// out of the averages.
	LoneQueries int    `json:"lone_queries"`
	Ties        string `json:"ties"`
	TiedQueries int    `json:"tied_queries"` // whose result at rank 1 depends on the tie rule

	// Intervals hold the recall of other classes of the same kind with 95%
	// confidence: a bootstrap over classes.
	Intervals []RecallInterval `json:"recall_intervals"`

	AverageFigures
	// Reranked are those of retrieval after re-ranking, as asked for.
	Reranked      []RerankedFigures   `json:"reranked,omitempty"`
	ClassAverages AverageFigures      `json:"class_averages"`
	PerClass      []GroupFigures      `json:"per_class,omitempty"`     // by label, if asked for
	SuperClasses  *MacroFigures       `json:"super_classes,omitempty"` // if there are any
	Clustering    *ClusteringFigures  `json:"clustering,omitempty"`
	Geometry      GeometryFigures     `json:"geometry,omitzero"`
	Verification  VerificationFigures `json:"verification,omitzero"`
	// Probe is there if it was asked for, see package probe.
	Probe *ProbeFigures `json:"probe,omitempty"`
}

// ProbeFigures say how well classes can be told from frozen embeddings: rows of a bank
// are known, and queries are classified by them.
type ProbeFigures struct {
	Bank       int            `json:"bank"`
	Queries    int            `json:"queries"`
	Classes    int            `json:"classes"` // of the bank
	Votes      []VoteFigures  `json:"knn,omitempty"`
	Linear     *LinearFigures `json:"linear,omitempty"`
	Alignment  *float64       `json:"alignment,omitempty"` // of pairs of one class
	Uniformity float64        `json:"uniformity"`
}

// VoteFigures are the queries, in percent, whose class is that of the votes of their K
// nearest rows, each counting one, and weighted.
type VoteFigures struct {
	K        int     `json:"k"`
	Percent  float64 `json:"percent"`
	Weighted float64 `json:"weighted"`
}

// LinearFigures are the queries, in percent, that a linear classifier is right about, and
// how its fit to the bank ended.
type LinearFigures struct {
	Percent    float64 `json:"percent"`
	Loss       float64 `json:"loss"`
	Iterations int     `json:"iterations"`
	Converged  bool    `json:"converged"`
}

// Recall is Recall@K in percent over all queries, and over those that are not lone.
type Recall struct {
	K                    int
	Percent, WithoutLone float64
}

// RecallInterval is the 95% interval of Recall@K in percent.
type RecallInterval struct {
	K    int     `json:"k"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// RerankedFigures are those of one way of re-ranking, over the same queries.
type RerankedFigures struct {
	Method  string         `json:"method"`
	Recall  []RecallFigure `json:"recall"`
	Seconds float64        `json:"seconds"` // that it took, search included
	AverageFigures
}

// RecallFigure is Recall@K in percent.
type RecallFigure struct {
	K       int     `json:"k"`
	Percent float64 `json:"percent"`
}

// AverageFigures are Averages in JSON.
type AverageFigures struct {
	PrecisionAt1 float64 `json:"precision@1"`
	RPrecision   float64 `json:"r_precision"`
	MAPAtR       float64 `json:"map@r"`
	MAP          float64 `json:"map"`
	MRR          float64 `json:"mrr"`
}

// ClusteringFigures go with NMI and F1, all means over restarts.
type ClusteringFigures struct {
	NMIMean        string  `json:"nmi_mean"` // how the entropies are averaged
	Center         string  `json:"centre"`   // of a cluster: mean or metric, see CenterRule
	Clusters       int     `json:"clusters"`
	Restarts       int     `json:"restarts"`
	NMIStd         float64 `json:"nmi_std"`
	F1Std          float64 `json:"f1_std"`
	AMI            float64 `json:"ami"`
	ARI            float64 `json:"ari"`
	Homogeneity    float64 `json:"homogeneity"`
	Completeness   float64 `json:"completeness"`
	Purity         float64 `json:"purity"`
	FowlkesMallows float64 `json:"fowlkes_mallows"`
	Iterations     float64 `json:"iterations"`
	Unconverged    int     `json:"unconverged"`
}

// GeometryFigures are ClassGeometry, Spectrum, and the distances by the metric.
type GeometryFigures struct {
	PiIntra          *float64      `json:"pi_intra,omitempty"`
	PiInter          *float64      `json:"pi_inter,omitempty"`
	PiRatio          *float64      `json:"pi_ratio,omitempty"`
	SpectralDecay    *float64      `json:"spectral_decay,omitempty"`
	EffectiveRank    *float64      `json:"effective_rank,omitempty"` // as SpectralDecay not beyond 1024 dimensions
	Intra            SpreadFigures `json:"intra"`
	Inter            SpreadFigures `json:"inter"`
	Margin           *float64      `json:"margin,omitempty"`
	Range            *float64      `json:"range,omitempty"`
	MarginRangeRatio *float64      `json:"margin_range_ratio,omitempty"`
}

// SpreadFigures are the distances of one kind of pair.
type SpreadFigures struct {
	Mean   *float64 `json:"mean,omitempty"`
	Std    *float64 `json:"std,omitempty"`
	Median *float64 `json:"median,omitempty"`
	Min    *float64 `json:"min,omitempty"`
	Max    *float64 `json:"max,omitempty"`
	Pairs  int      `json:"pairs"`
	All    bool     `json:"all_pairs"`
}

// VerificationFigures are from the same pairs.
type VerificationFigures struct {
	AUC          float64        `json:"auc"`
	EER          float64        `json:"eer"` // interpolated
	EERThreshold float64        `json:"eer_threshold"`
	TAR          []TARAtFigures `json:"tar"`
}

// TARAtFigures is the largest TAR with FAR at most the target.
type TARAtFigures struct {
	FAR       float64 `json:"far"`
	TAR       float64 `json:"tar"`
	Threshold float64 `json:"threshold"`
}

func newSpreadFigures(sorted []float64, all bool) SpreadFigures {
	s := NewSpread(sorted)
	return SpreadFigures{finite(s.Mean), finite(s.Std), finite(s.Median), finite(s.Min), finite(s.Max), len(sorted), all}
}

func newVerificationFigures(r *ROC) VerificationFigures {
	v := VerificationFigures{AUC: r.AUC()}
	v.EER, v.EERThreshold = r.EER()
	for _, far := range []float64{1e-1, 1e-2, 1e-3, 1e-4} {
		if far*float64(r.Negatives) < 1 {
			break // fewer pairs than one false acceptance needs
		}
		tar, threshold := r.TARAt(far)
		v.TAR = append(v.TAR, TARAtFigures{far, tar, threshold})
	}
	return v
}

// RecallAt returns Recall@K in percent, if it was computed.
func (f *Figures) RecallAt(k int) (percent float64, ok bool) {
	i := slices.IndexFunc(f.Recall, func(r Recall) bool { return r.K == k })
	if i < 0 {
		return 0, false
	}
	return f.Recall[i].Percent, true
}

const (
	recallKey      = "recall@"
	withoutLoneKey = "_without_lone"
)

// MarshalJSON writes recall first, in the order asked for.
func (f Figures) MarshalJSON() ([]byte, error) {
	type plain Figures
	var b, rest bytes.Buffer
	e := json.NewEncoder(&rest)
	e.SetEscapeHTML(false) // whoever marshals these escapes names or not
	if err := e.Encode(plain(f)); err != nil {
		return nil, err
	}
	b.WriteByte('{')
	for _, r := range f.Recall {
		fmt.Fprintf(&b, "%q:%s,", recallKey+strconv.Itoa(r.K), number(r.Percent))
	}
	if f.LoneQueries > 0 {
		for _, r := range f.Recall {
			fmt.Fprintf(&b, "%q:%s,", recallKey+strconv.Itoa(r.K)+withoutLoneKey, number(r.WithoutLone))
		}
	}
	b.Write(bytes.TrimSpace(rest.Bytes())[1:])
	return b.Bytes(), nil
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// UnmarshalJSON reads what MarshalJSON wrote; recall comes back by ascending K.
func (f *Figures) UnmarshalJSON(text []byte) error {
	type plain Figures
	if err := json.Unmarshal(text, (*plain)(f)); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	f.Recall = nil
	for key, raw := range all {
		word, ok := strings.CutPrefix(key, recallKey)
		if !ok || strings.HasSuffix(word, withoutLoneKey) {
			continue
		}
		r, err := parseRecall(word, raw, all[key+withoutLoneKey])
		if err != nil {
			return fmt.Errorf("eval: %s: %w", key, err)
		}
		f.Recall = append(f.Recall, r)
	}
	slices.SortFunc(f.Recall, func(a, b Recall) int { return a.K - b.K })
	return nil
}

func parseRecall(word string, raw, withoutLone json.RawMessage) (r Recall, err error) {
	if r.K, err = strconv.Atoi(word); err != nil {
		return r, err
	}
	if err = json.Unmarshal(raw, &r.Percent); err != nil {
		return r, err
	}
	if withoutLone == nil {
		r.WithoutLone = r.Percent // no lone queries
		return r, nil
	}
	return r, json.Unmarshal(withoutLone, &r.WithoutLone)
}
