package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/internal/home"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/weights/public"
)

// byWeights lets the weights that a network starts from choose it where settings do not:
// the backbone, and what it is fed, which it returns.
func (l layer) byWeights(c *Config) (*backbone.Preprocessing, error) {
	if _, given := l["model.backbone"]; given {
		return nil, nil
	}
	if c.Model.Backbone == backbone.FeaturesName { // rows have been through a network
		return nil, nil
	}
	path, dictionary := "", ""
	if err := errors.Join(l.read("weights.path", &path), l.read("weights.dictionary", &dictionary)); err != nil || path == "" || path == NoWeights {
		return nil, err
	}
	path, err := weightsFile(home.Expand(path))
	if err != nil {
		return nil, err
	}
	r, err := recognizeWeights(path, dictionary)
	if errors.Is(err, fs.ErrNotExist) {
		if f, ok := public.At(path); ok { // it is not fetched yet
			c.Model.Backbone = f.Backbone
			return nil, nil
		}
	}
	var none *model.NoNetworkError
	if errors.As(err, &none) {
		return nil, setting.Errorf("%w; %s says which network it is of, if you know better", err, setting.Name("model.backbone"))
	}
	if err != nil {
		return nil, err
	}
	c.Model.Backbone = r.Backbone
	return &r.Input, nil
}

// recognized are files by their path and dictionary, as they were when they were last
// looked at: settings are completed many times in a sweep.
var recognized sync.Map

type seenFile struct {
	info os.FileInfo
	r    *model.Recognized
}

func recognizeWeights(path, dictionary string) (*model.Recognized, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	key := [2]string{path, dictionary}
	if s, ok := recognized.Load(key); ok {
		if s := s.(seenFile); s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) {
			return s.r, nil
		}
	}
	r, err := model.Recognize(path, dictionary)
	if err != nil {
		return nil, err
	}
	recognized.Store(key, seenFile{info, r})
	return r, nil
}

// ChosenByWeights says which network the weights of settings chose, because no setting
// did; it is empty otherwise.
func (s *Settings) ChosenByWeights(c Config) string {
	if c.Weights.Path == "" || c.TakesRows() {
		return ""
	}
	all, err := s.merge()
	if err != nil {
		return ""
	}
	if _, given := all["model.backbone"]; given {
		return ""
	}
	input := fmt.Sprintf("pictures of %d pixels", c.Model.Input.Size)
	if c.Model.Input.Resize > 0 {
		input += fmt.Sprintf(" cut out of a shorter side of %d", c.Model.Input.Resize)
	}
	text := fmt.Sprintf("%s, %s, pooling %s", c.Model.Backbone, input, c.Model.Pool)
	if r, err := recognizeWeights(c.Weights.Path, c.Weights.Dictionary); err == nil {
		text = fmt.Sprintf("%s; %s, pooling %s", r, input, c.Model.Pool)
	}
	return fmt.Sprintf("network by the weights, since no setting names it: %s", text)
}
