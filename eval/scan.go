package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/engine"
)

// SearchOptions are common to everything that compares queries with a gallery.
// The zero value compares every query with every gallery row.
type SearchOptions struct {
	// Self[i] is the gallery row that is query i itself and is left out, or -1.
	// nil leaves nothing out; LeaveOneOut(n) is for queries = gallery.
	Self []int
	// Groups, if set, leave gallery rows out of a query's ranking that have its label
	// and its group: of re-identification the images of the same camera. Both sides
	// need labels then.
	Groups *Groups
	// Memory bounds the bytes of a block of distances, on the engine and on
	// the host together. 0 means 256 MiB. One row of distances is always held.
	Memory int64
	// Workers is the number of goroutines that work beside the engine; 0 means
	// GOMAXPROCS. It changes no result.
	Workers int
	// Comm connects ranks that take a share of the queries each; nil for one. All are given
	// the same rows, and all get the whole result, which is that of one.
	Comm comm.Comm
	// Progress, if set, is called with the number of queries done. It is called from
	// the calling goroutine.
	Progress func(done, total int)
	// terms is the number of terms of a sketch, none if negative; 0 chooses.
	terms int
	kept  *kept // of the gallery, or nil
}

const (
	// DefaultMemory is SearchOptions.Memory where that is 0.
	DefaultMemory = 256 << 20
	// maxBlockRows is enough for a matrix product to run at full speed.
	maxBlockRows = 1024
	// maxNumbers is what engines may have in one array at most.
	maxNumbers = math.MaxInt32
)

func (s SearchOptions) workers() int {
	if s.Workers > 0 {
		return s.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// blockRows is how many rows of distances, which lie in copies places at once,
// make a block.
func (s SearchOptions) blockRows(queries, gallery, copies int) int {
	memory := s.Memory
	if memory <= 0 {
		memory = DefaultMemory
	}
	rows := min(memory/(4*int64(copies)), maxNumbers) / int64(gallery)
	return int(max(1, min(rows, maxBlockRows, int64(queries))))
}

func (s SearchOptions) check(queries, gallery *Embeddings) error {
	if queries.H != gallery.H {
		return fmt.Errorf("eval: queries have %d coordinates, the gallery %d", queries.H, gallery.H)
	}
	if err := s.Groups.validate(queries.N, gallery.N); err != nil {
		return err
	}
	if s.Groups != nil && (queries.Labels == nil || gallery.Labels == nil) {
		return errors.New("eval: groups need labels of the queries and of the gallery")
	}
	if s.Self == nil {
		return nil
	}
	if len(s.Self) != queries.N {
		return fmt.Errorf("eval: Self names %d rows for %d queries", len(s.Self), queries.N)
	}
	for i, j := range s.Self {
		if j < -1 || j >= gallery.N {
			return fmt.Errorf("eval: query %d is said to be gallery row %d, of %d rows", i, j, gallery.N)
		}
	}
	return nil
}

func (s SearchOptions) self(query int) int {
	if s.Self == nil {
		return -1
	}
	return s.Self[query]
}

// scanner computes the float32 keys of all queries against the whole gallery, a
// block of query rows at a time. Memory is one block and the rows themselves.
type scanner struct {
	eng              Engine
	host             rowEngine          // eng, or nil if it is none
	device           engine.RowSearcher // eng, or nil if keys are looked up on the host
	find             finder
	layout           layout
	queries, gallery *Embeddings
	opt              SearchOptions
	judge            *judge // that learns from the gallery as it is laid out
}

// block is some queries and their keys on the engine.
type block struct {
	from, rows       int
	keys             engine.Tensor // (rows, gallery)
	queries, gallery engine.Tensor // as laid out
}

// each calls visit for every query with its keys, which visit may overwrite.
// Calls of different workers run at the same time; a worker's own do not.
// Which worker gets which query is left open.
func (s *scanner) each(ctx context.Context, visit func(worker, query int, keys []float32) error) error {
	n := s.gallery.N
	var keys []float32
	return s.blocks(ctx, func(b *block) (err error) {
		keys, err = s.read(b.keys, keys, b.rows*n)
		return err
	}, func(b *block) error {
		return parallel(s.opt.workers(), b.rows, func(worker, i int) error {
			return visit(worker, b.from+i, keys[i*n:(i+1)*n])
		})
	})
}

// blocks calls look for every block, to take what it needs from the engine, and then
// settle, during which an engine with memory of its own is at the next block.
func (s *scanner) blocks(ctx context.Context, look, settle func(b *block) error) error {
	n, h := s.gallery.N, s.layout.width()
	gallery, err := s.uploadGallery()
	if err != nil {
		return fmt.Errorf("eval: gallery of %d x %d: %w", n, h, err)
	}
	size := s.opt.blockRows(s.queries.N, n, s.copies())
	var keys, queries engine.Tensor
	held := 0 // rows of keys
	compute := func(from int) (*block, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b := &block{from: from, rows: min(size, s.queries.N-from)}
		if b.rows != held {
			if keys, err = s.eng.New(b.rows, n); err != nil {
				return nil, fmt.Errorf("eval: block of %d x %d distances: %w", b.rows, n, err)
			}
			queries, held = nil, b.rows
		}
		queries, err = s.upload(s.queries.X[from*s.layout.h:(from+b.rows)*s.layout.h], s.layout.leftRow, queries)
		if err == nil {
			err = s.eng.Pairwise(keys, queries, gallery, s.layout.evaluates())
		}
		b.keys, b.queries, b.gallery = keys, queries, gallery
		return b, s.blame(b, err)
	}
	b, err := compute(0)
	for err == nil {
		if err = s.blame(b, look(b)); err != nil {
			break
		}
		after, settled := b.from+b.rows, b
		ahead := s.device != nil && after < s.queries.N
		if ahead {
			if b, err = compute(after); err != nil {
				break
			}
		}
		if err = settle(settled); err != nil {
			break
		}
		if s.opt.Progress != nil {
			s.opt.Progress(after, s.queries.N)
		}
		if after == s.queries.N {
			break
		}
		if !ahead {
			b, err = compute(after)
		}
	}
	return err
}

// blame says which queries an error of the engine is about.
func (s *scanner) blame(b *block, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("eval: distances of queries %d to %d: %w", b.from, b.from+b.rows-1, err)
}

// copies is in how many places a block of distances lies.
func (s *scanner) copies() int {
	if s.host != nil || s.device != nil {
		return 1
	}
	return 2
}

// read returns the numbers of dev, in host if they must be copied.
func (s *scanner) read(dev engine.Tensor, host []float32, n int) ([]float32, error) {
	if s.host != nil {
		return s.host.View(dev)
	}
	if len(host) < n {
		host = make([]float32, n)
	}
	return host[:n], s.eng.Read(host[:n], dev)
}

// upload lays rows out on the engine, in t if it is not nil.
func (s *scanner) upload(x []float32, row func(dst, x []float32), t engine.Tensor) (engine.Tensor, error) {
	n, w := len(x)/s.layout.h, s.layout.width()
	if t == nil {
		var err error
		if t, err = s.eng.New(n, w); err != nil {
			return nil, err
		}
	}
	if s.host == nil {
		rows := make([]float32, n*w)
		s.layout.fill(s.opt.workers(), rows, x, row)
		return t, s.eng.Write(t, rows)
	}
	rows, err := s.host.View(t)
	if err != nil {
		return nil, err
	}
	s.layout.fill(s.opt.workers(), rows, x, row)
	return t, nil
}

// uploadGallery lays the gallery out on the engine.
func (s *scanner) uploadGallery() (engine.Tensor, error) {
	t, err := s.eng.New(s.gallery.N, s.layout.width())
	if err != nil {
		return nil, err
	}
	var rows []float32
	if s.host != nil {
		rows, err = s.host.View(t)
	} else {
		rows = make([]float32, s.gallery.N*s.layout.width())
	}
	if err != nil {
		return nil, err
	}
	s.judge.learn(s.layout.fillGallery(s.opt.workers(), rows, s.gallery.X))
	if s.host == nil {
		err = s.eng.Write(t, rows)
	}
	return t, err
}

// parallel calls do for 0..n-1 on at most workers goroutines, each of which
// takes one contiguous part. It returns the error of the lowest index that
// failed; a worker stops at its first.
func parallel(workers, n int, do func(worker, i int) error) error {
	workers = min(workers, n)
	errs := make([]error, max(workers, 1))
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := w * n / workers; i < (w+1)*n/workers; i++ {
				if errs[w] = do(w, i); errs[w] != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
