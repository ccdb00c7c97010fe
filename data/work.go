package data

import (
	"context"
	"io"
	"time"
)

// work is what opening a set does until it has its list of images. It ends with its
// context and tells how far it is.
type work struct {
	ctx    context.Context
	report func(what string, done, total int)
	told   time.Time
	task   string // that was told of last
}

func newWork(ctx context.Context, report func(what string, done, total int)) *work {
	return &work{ctx: ctx, report: report, told: time.Now()}
}

// step tells, ten times a second at most, that done of total is done, and returns the
// cause of a context that has ended. A total of 0 is unknown.
func (w *work) step(what string, done, total int) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	const pause = time.Second / 10
	if now := time.Now(); w.report != nil && now.Sub(w.told) >= pause {
		w.told, w.task = now, what
		w.report(what, done, total)
	}
	return nil
}

// end says that a task of n is done, if it was told of.
func (w *work) end(what string, n int) {
	if w.report != nil && w.task == what {
		w.task = ""
		w.report(what, max(n, 1), max(n, 1))
	}
}

// contextReader reads until a context ends.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// reading reads a file of size bytes as a part of the work.
type reading struct {
	*work
	io.Reader
	what string
	done int64
	size int64
}

// megabyte is the unit in which files are told of.
const megabyte = 1 << 20

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.done += int64(n)
	if stop := r.step(r.what, int(r.done/megabyte), int((r.size+megabyte-1)/megabyte)); stop != nil {
		return n, stop
	}
	return n, err
}
