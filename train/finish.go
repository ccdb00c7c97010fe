package train

import (
	"context"
	"github.com/vernier-ml/vernier/run"
)

// Finish measures the best epoch on the test classes, and writes results and
// pictures.
func (s *Session) Finish(ctx context.Context) (*run.Results, error) {
	s.net.close() // makes room
	defer collectOften()()
	opt := run.MeasureOptions{Selection: run.Selection{Options: s.opt.run()}, Restarts: s.opt.Restarts}
	emb, r, err := run.Measure(ctx, s.folder, s.net.g.Engine(), opt)
	if err != nil {
		return nil, err
	}
	defer emb.Close()
	if err := s.folder.SaveJSON(run.ResultsFile, r); err != nil || s.opt.ModelOnly {
		return r, err
	}
	if s.cfg.Run.TensorBoard {
		if err := project(s.folder, emb); err != nil {
			return nil, err
		}
	}
	if err := s.folder.Draw(ctx, s.net.g.Engine(), emb, s.state.History); err != nil {
		return nil, err
	}
	return r, nil
}
