package data

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
)

// stream makes the batches of one plan with several workers.
type stream struct {
	loader *Loader
	epoch  int
	drop   bool // leave bad images out instead of replacing them
}

// pending is a batch that workers are filling.
type pending struct {
	batch *Batch
	visit []int   // by slot
	errs  []error // by slot
	left  atomic.Int64
	done  chan struct{}
}

// job is one slot of a batch.
type job struct {
	*pending
	slot int
}

// run yields the batches from number from on, in order.
func (s stream) run(ctx context.Context, plan [][]int, from int, yield func(*Batch, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	order := make(chan *pending, s.loader.o.Prefetch)
	jobs := make(chan job)
	workers.Go(func() { s.produce(ctx, plan, from, order, jobs) })
	for range s.loader.o.Workers {
		workers.Go(func() {
			for j := range jobs {
				j.errs[j.slot] = s.work(ctx, j)
				if j.left.Add(-1) == 0 {
					close(j.done)
				}
			}
		})
	}
	for {
		p, err := next(ctx, order)
		if err == nil && p == nil {
			return
		}
		if err == nil {
			err = p.settle()
		}
		if err != nil {
			yield(nil, err)
			return
		}
		if len(p.batch.Items) > 0 && !yield(p.batch, nil) {
			return
		}
	}
}

// next waits for the next batch in order; nil, nil at the end.
func next(ctx context.Context, order <-chan *pending) (*pending, error) {
	select {
	case p, ok := <-order:
		if !ok {
			return nil, ctx.Err()
		}
		select {
		case <-p.done:
			return p, nil
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	return nil, ctx.Err()
}

// produce hands out the slots of one batch after the other.
func (s stream) produce(ctx context.Context, plan [][]int, from int, order chan<- *pending, jobs chan<- job) {
	defer close(order)
	defer close(jobs)
	visits := make([]int32, len(s.loader.set.Items))
	for b, items := range plan {
		if b < from {
			for _, i := range items {
				visits[i]++
			}
			continue
		}
		p := s.start(items, visits)
		p.batch.Next = Position{s.epoch, b + 1}
		if b+1 == len(plan) {
			p.batch.Next = Position{s.epoch + 1, 0}
		}
		select {
		case order <- p:
		case <-ctx.Done():
			return
		}
		for slot := range p.batch.Items {
			select {
			case jobs <- job{p, slot}:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (s stream) start(items []int, visits []int32) *pending {
	l, first, end := s.loader, 0, len(items)
	if l.o.Share != nil && !s.drop {
		first, end = l.o.Share(len(items))
	}
	n := end - first
	p := &pending{
		batch: &Batch{
			Labels: make([]int, n),
			Items:  make([]int, n),
			Shape:  [4]int{n, l.shape[0], l.shape[1], l.shape[2]},
			loader: l,
		},
		visit: make([]int, n),
		errs:  make([]error, n),
		done:  make(chan struct{}),
	}
	l.buffers(p.batch, n)
	p.left.Store(int64(n))
	for k, i := range items {
		if slot := k - first; slot >= 0 && slot < n {
			p.batch.Items[slot] = i
			p.batch.Labels[slot] = l.set.Items[i].Label
			p.visit[slot] = int(visits[i])
		}
		visits[i]++
	}
	return p
}

// left out: an image was bad, and that is excused.
type leftOut struct{ error }

// work fills a slot, if need be with another image of the class, or with the next one
// where each image is a class of its own.
func (s stream) work(ctx context.Context, j job) error {
	l := s.loader
	dst := j.batch.cell(j.slot, l.size())
	item := j.batch.Items[j.slot]
	err := l.fill(ctx, dst, item, s.epoch, j.visit[j.slot])
	if err == nil {
		return nil
	}
	if fatal := l.excuse(item, err); fatal != nil {
		return fatal
	}
	if s.drop {
		return leftOut{err}
	}
	for other := range l.instead(item) {
		if err = l.fill(ctx, dst, other, s.epoch, j.visit[j.slot]); err == nil {
			j.batch.Items[j.slot], j.batch.Labels[j.slot] = other, l.set.Items[other].Label
			return nil
		}
		if fatal := l.excuse(other, err); fatal != nil {
			return fatal
		}
	}
	if l.set.OneEach {
		return fmt.Errorf("%s: no image is readable; the last: %w", l.set.Name, err)
	}
	return fmt.Errorf("%s: class %q has no readable image; the last: %w", l.set.Name, l.set.Classes[l.set.Items[item].Label], err)
}

// instead lists the items that may take the place of one that cannot be read, in turn.
func (l *Loader) instead(item int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if n := len(l.set.Items); l.set.OneEach {
			for k := 1; k < n && yield((item+k)%n); k++ {
			}
			return
		}
		class := l.byClass[l.set.Items[item].Label]
		at := slices.Index(class, item)
		for k := 1; k < len(class) && yield(class[(at+k)%len(class)]); k++ {
		}
	}
}

// settle returns the first error of a full batch, and closes the gaps that
// left-out images leave.
func (p *pending) settle() error {
	b, kept := p.batch, 0
	size := max(len(b.Images), len(b.Pixels)) / len(b.Items)
	for slot, err := range p.errs {
		if _, gap := err.(leftOut); gap {
			continue
		}
		if err != nil {
			return err
		}
		if kept != slot {
			to, from := b.cell(kept, size), b.cell(slot, size)
			copy(to.images, from.images)
			copy(to.pixels, from.pixels)
			b.Items[kept], b.Labels[kept] = b.Items[slot], b.Labels[slot]
		}
		kept++
	}
	b.Items, b.Labels, b.Shape[0] = b.Items[:kept], b.Labels[:kept], kept
	if b.Pixels != nil {
		b.Pixels = b.Pixels[:kept*size]
	} else {
		b.Images = b.Images[:kept*size]
	}
	return nil
}
