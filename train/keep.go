package train

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/shirou/gopsutil/v4/disk"
	"github.com/vernier-ml/vernier/run"
)

// linkCheckpoints gives the checkpoint of an epoch that just ended its further
// names, the best's and its own, and drops those of epochs that are too old.
func (s *Session) linkCheckpoints(epoch int) error {
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
func (s *Session) notWritten(name string, err error) error {
	full := ""
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		full = "the disk is full"
		if u, err := disk.Usage(string(s.folder)); err == nil {
			full += fmt.Sprintf(" (%.1f MiB are free)", float64(u.Free)/(1<<20))
		}
		full += ": "
	}
	return fmt.Errorf("%s%s was not written at step %d: %w; %s", full, s.folder.Path(name), s.opti.Steps(), err, s.keptText())
}

// keptText says from where a run can go on.
func (s *Session) keptText() string {
	info, err := os.Stat(s.folder.Path(run.CheckpointFile))
	if err != nil {
		return "there is no checkpoint before it"
	}
	return fmt.Sprintf("the checkpoint of %s stays and is whole", info.ModTime().Format("15:04:05"))
}
