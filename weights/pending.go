package weights

import (
	"fmt"

	"github.com/vernier-ml/vernier/internal/wholefile"
)

// Writer takes the tensors of a file one after another, so that they need not be
// in memory together. Either Close or Abort must be called.
type Writer interface {
	// Write adds a tensor.
	Write(t *Tensor) error
	// Close completes the file and puts it in its place. Until then, and after
	// any error, a file that was there before stays as it was.
	Close() error
	// Abort drops what was written. It does nothing after Close, so that it can
	// be deferred.
	Abort()
}

// pending is a temporary file beside the one it will replace.
type pending struct {
	*wholefile.File
	path string
	done bool
}

// newPending opens a temporary file in the folder of path.
func newPending(path string) (*pending, error) {
	f, err := wholefile.Create(path)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	return &pending{File: f, path: path}, nil
}

// commit syncs the file and gives it its name.
func (p *pending) commit() error {
	if p.done {
		return fmt.Errorf("weights: %s is closed already", p.path)
	}
	if err := p.CloseAtomicallyReplace(); err != nil {
		p.discard()
		return p.fail(err)
	}
	p.done = true
	return nil
}

// discard removes the temporary file.
func (p *pending) discard() {
	if !p.done {
		p.done = true
		// The error that led here is the one to report.
		_ = p.Cleanup()
	}
}

func (p *pending) fail(err error) error {
	return fmt.Errorf("weights: writing %s: %w", p.path, err)
}
