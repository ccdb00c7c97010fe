package model

import (
	"encoding/json"
	"fmt"
	"math"
)

// thresholdKey is the metadata entry of a model file that holds the Threshold.
const thresholdKey = "vernier.threshold"

// Threshold says when two images count as the same: when their distance is at
// most Distance. It was calibrated on pairs, of which it tells.
type Threshold struct {
	Distance float64 `json:"distance"`
	// Rule chose it, in the form of eval.ParseRule.
	Rule string `json:"rule"`
	// FAR and FRR are the rates on the pairs that it was calibrated on.
	FAR float64 `json:"far"`
	FRR float64 `json:"frr"`
	// Same and Different count these pairs, Source says where they are from.
	Same      int    `json:"same_pairs"`
	Different int    `json:"different_pairs"`
	Source    string `json:"source"`
	// Identities are those that the pairs show; nothing should be measured on
	// them with this threshold.
	Identities []string `json:"identities,omitempty"`
}

// Brief is the threshold without the identities, for reports.
func (t *Threshold) Brief() *Threshold {
	b := *t
	b.Identities = nil
	return &b
}

// Validate reports numbers that no calibration gives.
func (t *Threshold) Validate() error {
	share := func(v float64) bool { return v >= 0 && v <= 1 }
	switch {
	case math.IsNaN(t.Distance) || math.IsInf(t.Distance, 0):
		return fmt.Errorf("threshold %v is not a finite distance", t.Distance)
	case !share(t.FAR) || !share(t.FRR):
		return fmt.Errorf("threshold %v with FAR %v and FRR %v: want rates from 0 to 1", t.Distance, t.FAR, t.FRR)
	}
	return nil
}

// store adds the threshold, if there is one, to a file's metadata.
func (t *Threshold) store(meta map[string]string) error {
	if t == nil {
		return nil
	}
	if err := t.Validate(); err != nil {
		return err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	meta[thresholdKey] = string(text)
	return nil
}

// storedThreshold reads what store wrote; nil if there is none.
func storedThreshold(meta map[string]string) (*Threshold, error) {
	text, ok := meta[thresholdKey]
	if !ok {
		return nil, nil
	}
	t := &Threshold{}
	if err := json.Unmarshal([]byte(text), t); err != nil {
		return nil, fmt.Errorf("the threshold in %q: %w", thresholdKey, err)
	}
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("the threshold in %q: %w", thresholdKey, err)
	}
	return t, nil
}
