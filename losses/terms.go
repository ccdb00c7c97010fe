package losses

import (
	"fmt"
	"math"
	"strings"
)

// termEntry is a row of the table of terms on rows.
type termEntry struct {
	name, meaning, source string
	settings              []setting
	build                 func(v values) RowTerm
}

// terms is the one table of terms on rows by name.
func terms() []termEntry {
	weight := between("weight", "of the term in the loss", 1, 0, math.Inf(1), false, true)
	return []termEntry{
		{
			name: "sec", meaning: "all embeddings of a batch of one length (spherical embedding constraint)",
			source: "Zhang et al. 2020, Eq. 8; chapter 16.2.6",
			settings: []setting{weight,
				between("momentum", "of the average length; 1 takes the batch's own", 1, 0, 1, true, false)},
			build: func(v values) RowTerm { return &SEC{Weight: v.real("weight"), Momentum: v.real("momentum")} },
		},
		{
			name: "norm", meaning: "short embeddings: mean squared length", source: "weight decay on the embedding",
			settings: []setting{weight},
			build:    func(v values) RowTerm { return &SEC{L2: v.real("weight")} },
		},
		{
			name: "zero-mean", meaning: "mean embedding of a batch at the origin", source: "centring",
			settings: []setting{weight},
			build:    func(v values) RowTerm { return ZeroMean{Weight: v.real("weight")} },
		},
		{
			name: "orthogonality", meaning: "rows of the projection orthonormal; goes on the head's weights", source: "BRM Sect. 3.1",
			settings: []setting{weight},
			build:    func(v values) RowTerm { return Orthogonality{Weight: v.real("weight")} },
		},
	}
}

// NewTerm makes a term on rows by its name on the command line.
func NewTerm(name string, params map[string]string) (RowTerm, error) {
	for _, e := range terms() {
		if e.name != name {
			continue
		}
		v, err := readValues(e.settings, params, yardstick{})
		if err != nil {
			return nil, fmt.Errorf("term %s: %w", name, err)
		}
		return e.build(v), nil
	}
	var names []string
	for _, e := range terms() {
		names = append(names, e.name)
	}
	return nil, fmt.Errorf("unknown term %q, want one of %s", name, strings.Join(names, ", "))
}

// ListTerms describes all terms on rows. Columns means nothing to them.
func ListTerms() []Info {
	var infos []Info
	for _, e := range terms() {
		infos = append(infos, Info{Name: e.name, Meaning: e.meaning, Source: e.source, Params: paramInfos(e.settings)})
	}
	return infos
}
