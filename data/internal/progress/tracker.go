package progress

import (
	"context"
	"io"
	"time"
)

// Tracker tells how far the opening of a set is, until its list of images is there, and
// ends it with its context.
type Tracker struct {
	ctx    context.Context
	report func(what string, done, total int)
	told   time.Time
	task   string // that was reported last
}

// New starts to track. report, if not nil, is called with a task and how much of it is done.
func New(ctx context.Context, report func(what string, done, total int)) *Tracker {
	return &Tracker{ctx: ctx, report: report, told: time.Now()}
}

// Step tells, ten times a second at most, that done of total is done, and returns the
// cause of a context that has ended. A total of 0 is unknown.
func (t *Tracker) Step(what string, done, total int) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	const pause = time.Second / 10
	if now := time.Now(); t.report != nil && now.Sub(t.told) >= pause {
		t.told, t.task = now, what
		t.report(what, done, total)
	}
	return nil
}

// End says that a task of n is done, if it was reported.
func (t *Tracker) End(what string, n int) {
	if t.report != nil && t.task == what {
		t.task = ""
		t.report(what, max(n, 1), max(n, 1))
	}
}

// Until reads from r until the context ends.
func (t *Tracker) Until(r io.Reader) io.Reader { return Until(t.ctx, r) }

// File reads a file of size bytes, as a task that is counted in megabytes.
func (t *Tracker) File(r io.Reader, what string, size int64) *FileReader {
	return &FileReader{tracker: t, from: r, what: what, size: size}
}

// FileReader reads a file and tells how much of it is read.
type FileReader struct {
	tracker    *Tracker
	from       io.Reader
	what       string
	done, size int64
}

const megabyte = 1 << 20

func (r *FileReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.done += int64(n)
	if stop := r.tracker.Step(r.what, int(r.done/megabyte), int((r.size+megabyte-1)/megabyte)); stop != nil {
		return n, stop
	}
	return n, err
}

// End says that the file is done with.
func (r *FileReader) End() { r.tracker.End(r.what, int(r.size/megabyte)) }
