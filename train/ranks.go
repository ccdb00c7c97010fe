package train

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// lead reports whether this rank is the one that writes the folder and reports.
func (s *setup) lead() bool { return s.comm.Rank() == 0 }

// share is what this rank loads of a batch; nil for all.
func (s *setup) share() func(n int) (first, end int) {
	if s.comm.Size() == 1 {
		return nil
	}
	return func(n int) (int, int) { return comm.Share(n, s.comm.Rank(), s.comm.Size()) }
}

// divide takes parts of the batch of which each rank has the same number, where there are
// several ranks.
func (s *Session) divide() error {
	ranks, batch := s.comm.Size(), s.cfg.Batch()
	if ranks == 1 {
		return nil
	}
	if batch%ranks != 0 {
		return setting.Errorf("a batch of %s cannot be divided evenly among %d ranks: take %d or %d, with %s, %s or %s", plural.Of(batch, "image"), ranks,
			max(1, batch/ranks)*ranks, (batch/ranks+1)*ranks, setting.Name("classes_per_batch"), setting.Name("images_per_class"), setting.Name("batch_size"))
	}
	if s.cfg.Model.Levels != (model.Levels{}) {
		return run.AtSetting("model.levels", fmt.Errorf("the links of a model with levels are of the maps of a whole batch, which %d ranks would divide: train it on one", ranks))
	}
	if s.cfg.MicroBatch == 0 {
		s.cfg.MicroBatch = batch / ranks
	}
	size := s.cfg.MicroBatch
	if batch%size != 0 {
		return run.AtSetting("micro_batch", fmt.Errorf("parts of %s do not fill a batch of %d, as they must for %d ranks", plural.Of(size, "image"), batch, ranks))
	}
	if err := comm.CheckParts(batch/size, ranks); err != nil {
		return run.AtSetting("micro_batch", fmt.Errorf("with parts of %s of a batch of %d, %w", plural.Of(size, "image"), batch, err))
	}
	return nil
}

// agreeToBegin makes sure that all ranks are about to train the same: images, kernels and
// settings.
func (s *Session) agreeToBegin() error {
	if s.comm.Size() == 1 {
		return nil
	}
	settings, err := json.Marshal(s.cfg)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		what string
		own  []byte
	}{
		{"the images", []byte(s.sets.Fingerprint)}, {"the kernels", []byte(s.model.Params.Engine().Info().String())}, {"the settings", settings},
	} {
		if err := comm.Same(s.comm, c.what, c.own); err != nil {
			return err
		}
	}
	return nil
}

// agree makes sure that every number of the checkpoint is the same on all ranks.
func (s *Session) agree() error {
	if s.comm.Size() == 1 {
		return nil
	}
	hash := sha256.New()
	for _, t := range s.keeper.tensors() {
		host := make([]float32, t.Value.Size())
		if err := s.model.Params.Engine().Read(host, t.Value); err != nil {
			return err
		}
		fmt.Fprintf(hash, "%s %v\n", t.Name, t.Value.Shape())
		if err := binary.Write(hash, binary.LittleEndian, host); err != nil {
			return err
		}
	}
	return comm.Same(s.comm, "the weights", []byte(hex.EncodeToString(hash.Sum(nil))))
}

// gather gives a batch, of which this rank has loaded a share, the labels and items of
// all. It is an error if ranks are at different steps.
func (s *stepper) gather(b *data.Batch) error {
	if s.comm.Size() == 1 {
		return nil
	}
	// The number of the step, that of bad items and these, labels, items.
	bad := s.badItems()
	own := append([]int{s.opti.Steps(), len(bad)}, bad...)
	own = append(append(own, b.Labels...), b.Items...)
	all, err := comm.GatherInts(s.comm, own)
	if err != nil {
		return err
	}
	var labels, items []int
	for rank, x := range all {
		if x[0] != all[0][0] {
			return fmt.Errorf("rank %d is after step %d, rank 0 after step %d", rank, x[0], all[0][0])
		}
		s.noteBad(x[2 : 2+x[1]])
		rest := x[2+x[1]:]
		labels, items = append(labels, rest[:len(rest)/2]...), append(items, rest[len(rest)/2:]...)
	}
	if n, most := len(s.bad), s.cfg.Data.MaxBad; n > most {
		return fmt.Errorf("%d unreadable images on all ranks together, at most %d are skipped", n, most)
	}
	b.Labels, b.Items = labels, items
	return nil
}

// noteBad notes training items that could not be read.
func (s *setup) noteBad(items []int) {
	for _, i := range items {
		s.bad[i] = true
	}
}

// reading is the context of loading: of several ranks none stops within a step.
func (s *Session) reading(ctx context.Context) context.Context {
	if s.comm.Size() == 1 {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// leave waits until rank 0 has saved and returns why the run stopped.
func (s *Session) leave(why error) error {
	if err := s.comm.Barrier(); err != nil || s.comm.Size() == 1 {
		return cmp.Or(err, why)
	}
	return comm.ErrStopped
}
