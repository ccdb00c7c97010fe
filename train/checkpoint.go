package train

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/weights"
)

// Keys of a checkpoint's metadata.
const (
	stateKey  = "vernier.state"
	configKey = "vernier.config"
	sumKey    = "vernier.sha256" // of the tensors' bytes
	epochKey  = "vernier.epoch"
)

// save writes the models, the history and, last of all, the checkpoint: a
// process that is killed in between resumes from the older checkpoint and
// writes the same files again.
func (s *Session) save() error {
	epoch := s.state.Position.Epoch
	meta := map[string]string{epochKey: strconv.Itoa(epoch)}
	if err := s.model.Save(s.folder.Path(LastFile), meta); err != nil {
		return err
	}
	if epoch == s.state.BestEpoch || epoch == 0 {
		if err := s.model.Save(s.folder.Path(BestFile), meta); err != nil {
			return err
		}
	}
	if err := s.saveHistory(); err != nil {
		return err
	}
	return s.saveCheckpoint()
}

// tensors are all that a checkpoint holds.
func (s *Session) tensors() []NamedTensor {
	var all []NamedTensor
	for _, p := range s.model.Params.All() {
		all = append(all, NamedTensor{p.Name, p.Value})
	}
	return append(all, s.opti.State()...)
}

// saveCheckpoint writes everything that Resume needs.
func (s *Session) saveCheckpoint() error {
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
	sum, err := digest(ts)
	if err != nil {
		return err
	}
	return weights.WriteSafetensors(s.folder.Path(CheckpointFile), ts, map[string]string{stateKey: string(st), configKey: string(cfg), sumKey: sum})
}

// loadCheckpoint restores what saveCheckpoint wrote with the stored settings.
func (s *Session) loadCheckpoint(stored Config) error {
	path := s.folder.Path(CheckpointFile)
	f, err := weights.Open(path)
	if err != nil {
		return fmt.Errorf("nothing to resume: %w", err)
	}
	defer f.Close()
	meta := f.Metadata()
	var written Config
	if err := json.Unmarshal([]byte(meta[configKey]), &written); err != nil {
		return fmt.Errorf("%s: its settings: %w", path, err)
	}
	if diff := differences(stored, written, "in "+ConfigFile, "in the checkpoint"); len(diff) > 0 {
		return fmt.Errorf("%s was written with other settings than those in %s:\n  %s", path, s.folder.Path(ConfigFile), strings.Join(diff, "\n  "))
	}
	if err := json.Unmarshal([]byte(meta[stateKey]), &s.state); err != nil {
		return fmt.Errorf("%s: its state: %w", path, err)
	}
	if s.state.Data != s.sets.fingerprint {
		return fmt.Errorf("the images of %s are not those that the run began with (some came, went, or changed their size), so it cannot go on: put them back, or train anew with another --out", s.cfg.Data.Spec)
	}
	if now := kernels(s.model.Params.Engine()); s.state.Kernels != now {
		s.ev.Warn("the run began with other kernels (%s, now %s): its last bits will differ from those of an uninterrupted run", s.state.Kernels, now)
		s.state.Kernels = now
	}
	if s.state.Released > 0 { // otherwise the warm-up's moments are in the file
		if _, err := s.tune(); err != nil {
			return err
		}
	}
	if err := verify(f); err != nil {
		return err
	}
	for _, t := range s.tensors() {
		if err := model.ReadInto(s.model.Params.Engine(), t.Value, f, t.Name); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	s.opti.SetSteps(s.state.Steps, s.state.Released, late)
	if s.state.Position.Epoch >= s.epochs() {
		s.ev.Say("all %d epochs are done", s.epochs())
		return nil
	}
	s.ev.Say("going on at epoch %d, batch %d", s.state.Position.Epoch+1, s.state.Position.Batch+1)
	return nil
}

// saveHistory writes one line an epoch, for spreadsheets and plots.
func (s *Session) saveHistory() error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{"epoch", "steps", "loss", "distance_mean", "distance_std", "validation_recall@1", "validation_map@r", "best"}}
	for _, r := range s.state.History {
		rows = append(rows, []string{
			strconv.Itoa(r.Epoch), strconv.Itoa(r.Steps), text(r.Loss), text(r.DistanceMean), text(r.DistanceStd), text(r.Recall1), text(r.MAPAtR), strconv.FormatBool(r.Best),
		})
	}
	if err := w.WriteAll(rows); err != nil {
		return err
	}
	return s.folder.write(HistoryFile, b.Bytes())
}

func text(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
