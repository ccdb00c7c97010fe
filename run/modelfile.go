package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/model"
)

// IsModelFile reports whether path is a file outside of a run's folder, which may hold a
// model: of a file in such a folder Open tells which folder to give.
func IsModelFile(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return false
	}
	_, err = os.Stat(Folder(filepath.Dir(path)).Path(ConfigFile))
	return err != nil
}

// LoadModelFile reads a model from a file that stands alone, as best.safetensors of a run
// copied elsewhere. The configuration is that of a run without a data set: what the file
// says of the model and of how pictures are prepared, else the defaults. epoch is that of
// the run, 0 where the file does not say it.
func LoadModelFile(path string, eng engine.Engine) (m *model.Model, cfg Config, epoch int, err error) {
	m, meta, err := model.Load(path, eng)
	if err != nil {
		return nil, cfg, 0, err
	}
	if text, ok := meta[EpochKey]; ok {
		if epoch, err = strconv.Atoi(text); err != nil {
			return nil, cfg, 0, fmt.Errorf("%s: the epoch in its metadata is %q, want a number", path, text)
		}
	}
	cfg = Default("")
	cfg.Model, cfg.Data.Shorter = m.Spec, m.Shorter
	return m, cfg, epoch, nil
}

// MeasureModelFile evaluates a model from a file that stands alone on the set that
// opt.Data names, beside raw pixels or features. What the model was trained on is not
// known.
func MeasureModelFile(ctx context.Context, path string, eng engine.Engine, opt MeasureOptions) (*Results, error) {
	if opt.Data == "" {
		return nil, errors.New("a model file does not name the data that it was trained on: Selection.Data is to say what to measure on")
	}
	m, cfg, epoch, err := LoadModelFile(path, eng)
	if err != nil {
		return nil, err
	}
	emb, err := embedSelection(ctx, cfg, m, epoch, opt.Selection)
	if err != nil {
		return nil, err
	}
	r, err := emb.figures(ctx, opt)
	return r, errors.Join(err, emb.Close())
}
