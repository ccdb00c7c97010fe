package train

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/disk"

	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/optim"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/weights"
)

// keeper writes what stays of a run: its models, history and checkpoints, in a folder
// that it holds for this process.
type keeper struct {
	*setup
	stepper *stepper
	lock    *os.File  // held as long as the session lives
	saved   time.Time // when the latest checkpoint was written
	// write stores a checkpoint: weights.WriteChecked, except in tests.
	write func(path string, ts []*weights.Tensor, meta map[string]string) error
}

// save writes the models, the history and, last of all, the checkpoint: a
// process that is killed in between resumes from the older checkpoint and
// writes the same files again.
func (s *keeper) save() error {
	if !s.lead() {
		return s.saveCheckpoint()
	}
	epoch := s.state.Position.Epoch
	if err := s.saveModels(epoch); err != nil {
		return err
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
func (s *keeper) tensors() []optim.NamedTensor {
	var all []optim.NamedTensor
	for _, p := range s.model.Params.All() {
		all = append(all, optim.NamedTensor{Name: p.Name, Value: p.Value})
	}
	all = append(all, s.stepper.opti.State()...)
	if s.stepper.average != nil {
		all = append(all, s.stepper.average.State()...)
	}
	return all
}

// saveCheckpoint writes everything that Resume needs.
func (s *keeper) saveCheckpoint() error {
	if err := s.stepper.conclude(); err != nil {
		return err
	}
	s.state.Steps = s.stepper.opti.Steps()
	if !s.lead() {
		return nil
	}
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
		h, err := model.StoredTensor(s.model.Params.Engine(), t.Name, t.Value)
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
func (s *keeper) saveHistory() error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{"epoch", "steps", "loss", "distance_mean", "distance_std", "validation_recall@1", "validation_map@r", "best", "idle", "saturated", "test_recall@1", "test_map@r"}}
	scaled := s.cfg.Model.Scaling != model.ScaleFixed
	if scaled {
		rows[0] = append(rows[0], "scale")
	}
	if s.cfg.EMA > 0 {
		rows[0] = append(rows[0], "validation_ema_recall@1", "validation_ema_map@r", "test_ema_recall@1", "test_ema_map@r")
	}
	for _, r := range s.state.History {
		row := []string{
			strconv.Itoa(r.Epoch), strconv.Itoa(r.Steps), text(r.Loss), text(r.DistanceMean), text(r.DistanceStd), text(r.Recall1), text(r.MAPAtR), strconv.FormatBool(r.Best),
			text(r.Idle), text(r.Saturated), "", "",
		}
		if r.Test != nil {
			row[len(row)-2], row[len(row)-1] = text(r.Test.Recall1), text(r.Test.MAPAtR)
		}
		if scaled {
			row = append(row, text(r.Scale))
		}
		if e := r.EMA; e != nil {
			row = append(row, text(e.Recall1), text(e.MAPAtR), "", "")
			if e.Test != nil {
				row[len(row)-2], row[len(row)-1] = text(e.Test.Recall1), text(e.Test.MAPAtR)
			}
		}
		rows = append(rows, row)
	}
	if err := w.WriteAll(rows); err != nil {
		return err
	}
	return s.folder.WriteFile(run.HistoryFile, b.Bytes())
}

func text(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// linkCheckpoints gives the checkpoint of an epoch that just ended its further
// names, the best's and its own, and drops those of epochs that are too old.
func (s *keeper) linkCheckpoints(epoch int) error {
	if epoch == s.state.BestEpoch && epoch > 0 {
		if err := s.folder.LinkCheckpoint(run.BestCheckpointFile); err != nil {
			return s.notWritten(run.BestCheckpointFile, err)
		}
	}
	if s.cfg.Run.Keep < 2 || epoch == 0 {
		return nil // the latest is the last
	}
	if err := s.folder.LinkCheckpoint(run.EpochCheckpoint(epoch)); err != nil {
		return s.notWritten(run.EpochCheckpoint(epoch), err)
	}
	kept, err := s.folder.KeptEpochs()
	if err != nil {
		return err
	}
	for _, n := range kept {
		if n <= epoch-s.cfg.Run.Keep {
			if err := os.Remove(s.folder.Path(run.EpochCheckpoint(n))); err != nil {
				return err
			}
		}
	}
	return nil
}

// notWritten says what a failed write means for a run. A file is written under
// another name first, so the one before it stays.
func (s *keeper) notWritten(name string, err error) error {
	full := ""
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		full = "the disk is full"
		if u, err := disk.Usage(string(s.folder)); err == nil {
			full += fmt.Sprintf(" (%.1f MiB are free)", float64(u.Free)/(1<<20))
		}
		full += ": "
	}
	return fmt.Errorf("%s%s was not written at step %d: %w; %s", full, s.folder.Path(name), s.stepper.opti.Steps(), err, s.keptText())
}

// keptText says from where a run can continue.
func (s *keeper) keptText() string {
	info, err := os.Stat(s.folder.Path(run.CheckpointFile))
	if err != nil {
		return "there is no checkpoint before it"
	}
	return fmt.Sprintf("the checkpoint of %s stays and is whole", info.ModTime().Format("15:04:05"))
}

// claim makes the run folder if it is not there, and locks it for this process,
// before anything in it is touched. The system gives the lock back
// when the process ends, however it ends.
func (s *keeper) claim() error {
	if err := os.MkdirAll(string(s.folder), 0o755); err != nil {
		return err
	}
	f, err := s.folder.Lock()
	if err != nil {
		return err
	}
	s.lock = f
	return s.folder.SweepTemporary()
}

// unlock gives the folder free.
func (s *keeper) unlock() {
	if s.lock != nil {
		s.lock.Close()
		s.lock = nil
	}
}
