package train

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"time"

	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/optim"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/weights"
)

// save writes the models, the history and, last of all, the checkpoint: a
// process that is killed in between resumes from the older checkpoint and
// writes the same files again.
func (s *Session) save() error {
	epoch := s.state.Position.Epoch
	meta := map[string]string{run.EpochKey: strconv.Itoa(epoch)}
	if err := s.model.Save(s.folder.Path(run.LastFile), meta); err != nil {
		return s.notWritten(run.LastFile, err)
	}
	if epoch == s.state.BestEpoch || epoch == 0 {
		if err := s.model.Save(s.folder.Path(run.BestFile), meta); err != nil {
			return s.notWritten(run.BestFile, err)
		}
	}
	if err := s.saveHistory(); err != nil {
		return err
	}
	if err := s.saveCheckpoint(); err != nil {
		return err
	}
	return s.linkCheckpoints(epoch)
}

// tensors are all that a checkpoint holds.
func (s *Session) tensors() []optim.NamedTensor {
	var all []optim.NamedTensor
	for _, p := range s.model.Params.All() {
		all = append(all, optim.NamedTensor{Name: p.Name, Value: p.Value})
	}
	return append(all, s.opti.State()...)
}

// saveCheckpoint writes everything that Resume needs.
func (s *Session) saveCheckpoint() error {
	if err := s.conclude(); err != nil {
		return err
	}
	s.state.Steps = s.opti.Steps()
	st, err := json.Marshal(s.state)
	if err != nil {
		return err
	}
	cfg, err := json.Marshal(s.cfg)
	if err != nil {
		return err
	}
	var ts []*weights.Tensor
	for _, t := range s.tensors() {
		h, err := model.HostTensor(s.model.Params.Engine(), t.Name, t.Value)
		if err != nil {
			return err
		}
		ts = append(ts, h)
	}
	if err := s.write(s.folder.Path(run.CheckpointFile), ts, map[string]string{run.StateKey: string(st), run.ConfigKey: string(cfg)}); err != nil {
		return s.notWritten(run.CheckpointFile, err)
	}
	s.saved = time.Now()
	return nil
}

// saveHistory writes one line an epoch, for spreadsheets and plots.
func (s *Session) saveHistory() error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{"epoch", "steps", "loss", "distance_mean", "distance_std", "validation_recall@1", "validation_map@r", "best", "idle", "saturated", "test_recall@1", "test_map@r"}}
	for _, r := range s.state.History {
		row := []string{
			strconv.Itoa(r.Epoch), strconv.Itoa(r.Steps), text(r.Loss), text(r.DistanceMean), text(r.DistanceStd), text(r.Recall1), text(r.MAPAtR), strconv.FormatBool(r.Best),
			text(r.Idle), text(r.Saturated), "", "",
		}
		if r.Test != nil {
			row[len(row)-2], row[len(row)-1] = text(r.Test.Recall1), text(r.Test.MAPAtR)
		}
		rows = append(rows, row)
	}
	if err := w.WriteAll(rows); err != nil {
		return err
	}
	return s.folder.WriteFile(run.HistoryFile, b.Bytes())
}

func text(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
