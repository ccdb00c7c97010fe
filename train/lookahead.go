package train

import (
	"iter"

	"github.com/vernier-ml/vernier/data"
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
}

// newLookahead reads at most max batches. stop ends the work on those that are
// never read.
func newLookahead(batches iter.Seq2[*data.Batch, error], max int) (l *lookahead, stop func()) {
	l = &lookahead{left: max}
	l.pull, stop = iter.Pull2(batches)
	return l, stop
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
		l.batch, l.err, _ = l.pull()
	}
}
