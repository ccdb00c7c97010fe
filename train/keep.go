package train

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/shirou/gopsutil/v4/disk"

	"github.com/vernier-ml/vernier/internal/wholefile"
)

// Checkpoints of single epochs stand beside the latest one.
const (
	BestCheckpointFile = "checkpoint-best.safetensors"
	epochPrefix        = "checkpoint-epoch-"
	epochSuffix        = ".safetensors"
	linkSuffix         = ".link" // of a checkpoint's second name until it has it
)

func epochCheckpoint(n int) string { return fmt.Sprintf("%s%04d%s", epochPrefix, n, epochSuffix) }

// keptEpochs lists the epochs that have a checkpoint of their own, in order.
func (f Folder) keptEpochs() ([]int, error) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil, err
	}
	var list []int
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), epochPrefix)
		number, whole := strings.CutSuffix(rest, epochSuffix)
		if n, err := strconv.Atoi(number); ok && whole && err == nil {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}

// linkCheckpoints gives the checkpoint of an epoch that just ended its further
// names, the best's and its own, and drops those of epochs that are too old.
func (s *Session) linkCheckpoints(epoch int) error {
	if epoch == s.state.BestEpoch && epoch > 0 {
		if err := s.folder.link(BestCheckpointFile); err != nil {
			return s.notWritten(BestCheckpointFile, err)
		}
	}
	if s.cfg.Run.Keep < 2 || epoch == 0 {
		return nil // the latest is the last
	}
	if err := s.folder.link(epochCheckpoint(epoch)); err != nil {
		return s.notWritten(epochCheckpoint(epoch), err)
	}
	kept, err := s.folder.keptEpochs()
	if err != nil {
		return err
	}
	for _, n := range kept {
		if n <= epoch-s.cfg.Run.Keep {
			if err := os.Remove(s.folder.Path(epochCheckpoint(n))); err != nil {
				return err
			}
		}
	}
	return nil
}

// link makes the latest checkpoint known under another name too: as a hard link,
// which takes no room, or where the file system has none as a copy.
func (f Folder) link(name string) error {
	temporary := f.Path("." + name + linkSuffix)
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(f.Path(CheckpointFile), temporary); err != nil {
		return f.copyCheckpoint(name)
	}
	if err := os.Rename(temporary, f.Path(name)); err != nil {
		return err
	}
	// If both names were one file already, the rename did nothing at all.
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f Folder) copyCheckpoint(name string) error {
	from, err := os.Open(f.Path(CheckpointFile))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := wholefile.Create(f.Path(name))
	if err != nil {
		return err
	}
	defer to.Cleanup()
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return to.CloseAtomicallyReplace()
}

// sweep removes temporary files that a killed process left.
func (f Folder) sweep() error {
	for _, name := range append(slices.Clone(runFiles), epochPrefix) {
		wholefile.Sweep(string(f), name)
	}
	links, err := filepath.Glob(f.Path(".*" + linkSuffix))
	if err != nil {
		return err
	}
	for _, path := range links {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
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
	info, err := os.Stat(s.folder.Path(CheckpointFile))
	if err != nil {
		return "there is no checkpoint before it"
	}
	return fmt.Sprintf("the checkpoint of %s stays and is whole", info.ModTime().Format("15:04:05"))
}
