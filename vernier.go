package vernier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// ErrClosed says that a Model was used after Close.
var ErrClosed = errors.New("the model is closed")

// Model is a trained network with the metric that compares its embeddings. Its methods
// may be called by several goroutines at a time.
type Model struct {
	name      string // for messages
	model     *model.Model
	threshold *float64
	pipeline  *transform.Pipeline // nil for rows of features
	input     int                 // numbers of an image or a row
	decoding  pixels.Options
	decoder   *pixels.Decoder
	workers   *semaphore.Weighted // that decode

	fingerprint func() (string, error)

	turn      chan struct{} // of who uses what follows, and the engine
	networks  networks
	ownEngine io.Closer // nil if it is the caller's
	closed    bool
}

// Load reads a model: a file that training or vernier export wrote, or the folder of a
// run, of which the model of the best epoch is meant (WithLastEpoch). A file in a run's
// folder is used as the run uses it: it embeds as vernier embed does, to the bit.
func Load(path string, options ...Option) (*Model, error) {
	s, err := newSettings(options)
	if err != nil {
		return nil, fmt.Errorf("vernier: %w", err)
	}
	eng, own := s.engine, io.Closer(nil)
	if eng == nil {
		e, err := cpu.New(cpu.Options{Threads: s.threads})
		if err != nil {
			return nil, fmt.Errorf("vernier: %w", err)
		}
		eng, own = e, e
	}
	m, err := load(path, eng, s)
	if err != nil {
		if own != nil {
			err = errors.Join(err, own.Close())
		}
		return nil, fmt.Errorf("vernier: %w", err)
	}
	m.ownEngine = own
	return m, nil
}

func load(path string, eng engine.Engine, s settings) (*Model, error) {
	var folder run.Folder
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no run folder or model file %s: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		if folder, err = run.Open(path); err != nil {
			return nil, err
		}
		path = folder.ModelPath(s.choice)
	} else if s.choice != "" {
		return nil, fmt.Errorf("%s is a file: the last epoch can be chosen of a run's folder", path)
	} else if folder, err = folderOf(path); err != nil {
		return nil, err
	}
	m, _, err := model.Load(path, eng)
	if err != nil {
		return nil, err
	}
	if folder != "" {
		cfg, err := folder.LoadConfig()
		if err != nil {
			return nil, err
		}
		m.Shorter = cfg.Data.Shorter // models had none once
		if s.maxPixels == 0 {
			s.maxPixels = cfg.Data.MaxPixels
		}
	}
	return newModel(path, m, s)
}

// folderOf returns the run that a file is a model of, or "".
func folderOf(path string) (run.Folder, error) {
	folder := run.Folder(filepath.Dir(path))
	if name := filepath.Base(path); name != run.BestFile && name != run.LastFile && name != run.LastEMAFile {
		return "", nil
	}
	_, err := os.Stat(folder.Path(run.ConfigFile))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return folder, err
}

// New makes a model of one in memory, which may not be changed any more. It computes on
// the model's engine, which nothing else may use at the same time and which the caller
// closes. Of the options WithThreshold and WithMaxPixels mean something here.
func New(m *model.Model, options ...Option) (*Model, error) {
	s, err := newSettings(options)
	if err == nil && (s.engine != nil || s.threads != 0 || s.choice != "") {
		err = errors.New("New takes a model as it is, with its engine: WithEngine, WithThreads, WithLastEpoch and WithAveragedWeights are for Load")
	}
	if err != nil {
		return nil, fmt.Errorf("vernier: %w", err)
	}
	v, err := newModel("the model", m, s)
	if err != nil {
		return nil, fmt.Errorf("vernier: %w", err)
	}
	return v, nil
}

// newModel prepares a model for use.
func newModel(name string, m *model.Model, s settings) (*Model, error) {
	pipeline, err := m.Spec.Input.Evaluation()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	decoding := pixels.Options{MaxPixels: s.maxPixels}
	v := &Model{
		name: name, model: m, pipeline: pipeline,
		decoding: decoding, decoder: pixels.NewDecoder(decoding),
		workers:     semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
		turn:        make(chan struct{}, 1),
		networks:    networks{model: m, limit: m.EmbedderBatch(maxBatch)},
		input:       m.Width(),
		fingerprint: sync.OnceValues(m.Fingerprint),
	}
	if pipeline != nil {
		v.input = pipeline.Size()
	}
	if err := m.Spec.Metric.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if m.Threshold != nil {
		v.threshold = &m.Threshold.Distance
	}
	if s.threshold != nil {
		if d := *s.threshold; d < 0 && m.Spec.Metric.Kind != metric.Dot {
			return nil, fmt.Errorf("%s: threshold %v, want at least 0, as distances by %s are", name, d, m.Spec.Metric)
		}
		v.threshold = s.threshold
	}
	return v, nil
}

// lock waits for the turn at the engine. Call unlock if there is no error.
func (m *Model) lock(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if m.closed {
		m.unlock()
		return fmt.Errorf("vernier: %s: %w", m.name, ErrClosed)
	}
	return nil
}

func (m *Model) unlock() { <-m.turn }

// Close waits for calls that compute and releases the model's memory. An engine that
// WithEngine gave stays open. Close may be called again.
func (m *Model) Close() error {
	m.turn <- struct{}{}
	defer m.unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	err := m.networks.close()
	if m.ownEngine != nil {
		err = errors.Join(err, m.ownEngine.Close())
	}
	return err
}

// Dim is the length of an embedding.
func (m *Model) Dim() int { return m.model.Spec.Dim }

// Metric is what compares embeddings.
func (m *Model) Metric() metric.Metric { return m.model.Spec.Metric }

// Threshold is the largest distance of two images that are the same: that of
// WithThreshold, else the one that is stored in the model. ok is false if there is none.
func (m *Model) Threshold() (distance float64, ok bool) {
	if m.threshold == nil {
		return 0, false
	}
	return *m.threshold, true
}

// Fingerprint identifies what the model makes of an image: SHA-256, in hexadecimal, of
// its specification and parameters. An index holds that of the model that made it.
func (m *Model) Fingerprint(ctx context.Context) (string, error) {
	if err := m.lock(ctx); err != nil { // an engine that reads parameters
		return "", err
	}
	defer m.unlock()
	return m.fingerprint()
}
