package train

import (
	"iter"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/engine"
)

// lookahead reads the batches of an epoch and, where a step asks for it, the one
// after its own. That one is not done before a step has used it: a checkpoint that
// is written between the two begins with it.
type lookahead struct {
	pull  func() (*data.Batch, error, bool)
	left  int // batches that are still to be read
	ready bool
	batch *data.Batch
	err   error

	observer engine.Observer // may be nil
}

// newLookahead reads at most max batches. stop ends the work on those that are
// never read.
func newLookahead(batches iter.Seq2[*data.Batch, error], max int) (l *lookahead, stop func()) {
	l = &lookahead{left: max}
	l.pull, stop = iter.Pull2(batches)
	return l, stop
}

// ended reports whether next will return nil without having waited.
func (l *lookahead) ended() bool {
	return l.err == nil && l.left == 0 && (!l.ready || l.batch == nil)
}

// next returns the next batch, nil after the last.
func (l *lookahead) next() (*data.Batch, error) {
	l.read()
	l.ready = false
	return l.batch, l.err
}

// peek waits for the batch that next will return. It is nil after the last, and
// where next will return an error.
func (l *lookahead) peek() *data.Batch {
	l.read()
	return l.batch
}

func (l *lookahead) read() {
	if l.ready || l.err != nil {
		return
	}
	l.ready, l.batch = true, nil
	if l.left > 0 {
		l.left--
		l.err = engine.Observe(l.observer, &waiting, func() (err error) {
			l.batch, err, _ = l.pull()
			return err
		})
	}
}
