package gallery

import (
	"errors"
	"fmt"
	"os"

	"github.com/vernier-ml/vernier/eval"
)

// Compact writes an index anew without the rows that were removed or replaced, and puts it
// in the place of the old one when it is whole. It returns the bytes of before and after. An
// index without any row left stays as it is. All rows are in memory meanwhile. Processes that
// write to the index take turns with it, and those that search it go on with the new file.
func Compact(path string) (before, after int64, err error) {
	missing := func() error { return fmt.Errorf("%s: %w", path, os.ErrNotExist) }
	err = locked(path, missing, func(f *os.File) error {
		stat, err := f.Stat()
		if err != nil {
			return err
		}
		before, after = stat.Size(), stat.Size()
		s, err := readState(f, stat.Size())
		if err == nil && s.removed == 0 && len(s.list) < manyBlocks || err == nil && s.live() == 0 {
			return nil
		}
		var t *Table
		if err == nil {
			t, err = s.read(f)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if t.N != s.live() {
			return fmt.Errorf("%s: %w", path, damagedf("%w", errors.New("it holds another number of rows than it says")))
		}
		t.Embeddings = &eval.Embeddings{X: t.X, N: t.N, H: t.H}
		if err := create(path, s.Info, t, replace); err != nil {
			return err
		}
		if stat, err = os.Stat(path); err == nil {
			after = stat.Size()
		}
		return err
	})
	return before, after, err
}

// manyBlocks is the number of blocks from which on an index is written anew: opening it reads
// each by itself.
const manyBlocks = 64
