package run

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/model"
)

// WeightsConfig says what a network starts from. Without a path its weights are
// drawn.
type WeightsConfig struct {
	// Path of a weight file: see model.LoadWeights.
	Path string `json:"path,omitempty"`
	// Dictionary chooses one of several networks in the file.
	Dictionary string `json:"dictionary,omitempty"`
	// SHA256 of the file in hexadecimal. It is filled in when a run starts.
	SHA256 string `json:"sha256,omitempty"`
}

// InitialModel returns the network of a configuration as it is before the first step,
// and what was read for it from a weight file, or nil.
func (c Config) InitialModel(eng engine.Engine) (*model.Model, *model.Loaded, error) {
	m, err := model.New(eng, c.Model, c.Seed)
	if err != nil || c.Weights.Path == "" {
		return m, nil, err
	}
	if c.Weights.SHA256 != "" {
		sum, err := wholefile.Digest(c.Weights.Path)
		if err != nil {
			return nil, nil, err
		}
		if sum != c.Weights.SHA256 {
			return nil, nil, fmt.Errorf("%s is no longer the file that the run started from", c.Weights.Path)
		}
	}
	l, err := m.LoadWeights(c.Weights.Path, c.Weights.Dictionary)
	return m, l, err
}
