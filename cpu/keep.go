package cpu

import (
	"runtime"
	"sync"
)

// Weights are read by many products and seldom written, so that an engine which only
// infers keeps them packed. What is kept is that of a Tensor and is dropped as soon as an
// operation is given the Tensor otherwise than as a source (args.source): an operation
// that says nothing drops too much, never too little. An engine that has computed a
// gradient of weights keeps nothing any more: they are about to change.

const (
	keepLimit   = 512 << 20 // bytes that an engine keeps
	keepFrom    = 2         // product since the last change that packs for the next ones, too
	keepFilters = 1 << 20   // largest transformed filters of Winograd's that are kept, in numbers
)

// packing says what was packed of a tensor, and how.
type packing struct {
	form        any // a packedForm or a winogradForm
	lines, deep int
	narrow      bool
}

// packedForm is panels of all terms of rows or of columns: term t of line i is
// v[i/size*size*words + t*size + i%size], where panels have size lines.
type packedForm uint8

const (
	packedLeft  packedForm = iota // panels of kr.mr rows
	packedRight                   // panels of kr.nr columns
)

// keeper is what an engine keeps.
type keeper struct {
	mu      sync.Mutex
	bytes   int64
	all     map[*packs]bool
	stopped bool
}

// packs is what was kept of one tensor.
type packs struct {
	keeper *keeper
	list   []pack
}

type pack struct {
	packing
	v    []float32
	give func() error
}

// drop gives back what was kept.
func (p *packs) drop() {
	k := p.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	p.dropLocked()
}

func (p *packs) dropLocked() {
	for _, x := range p.list {
		p.keeper.bytes -= 4 * int64(len(x.v))
		if x.give != nil {
			_ = x.give() // memory that cannot be given back is lost, as that of an arena
		}
	}
	p.list = nil
	delete(p.keeper.all, p)
}

// stop drops everything and keeps nothing from now on.
func (k *keeper) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	for p := range k.all {
		p.dropLocked()
	}
}

// held returns the bytes that are kept.
func (k *keeper) held() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bytes
}

// kept returns n numbers that fill makes of the weights w, of which how says what they
// are, or nil if they are to be packed for this product alone.
func (e *Engine) kept(w view, how packing, n int, fill func(dst []float32)) []float32 {
	t := w.of
	if t == nil || !t.keepable {
		return nil
	}
	t.reads++
	k := e.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if t.packed != nil && t.packed.keeper == k {
		for _, p := range t.packed.list {
			if p.packing == how {
				return p.v
			}
		}
	}
	if k.stopped || t.reads < keepFrom || k.bytes+4*int64(n) > keepLimit || t.packed != nil && t.packed.keeper != k {
		return nil
	}
	v, give, err := arenaMemory(n)
	if err != nil {
		return nil
	}
	preferHugePages(v)
	fill(v)
	if t.packed == nil {
		t.packed = &packs{keeper: k}
		runtime.AddCleanup(t, (*packs).drop, t.packed)
	}
	k.bytes += 4 * int64(n)
	k.all[t.packed] = true
	t.packed.list = append(t.packed.list, pack{packing: how, v: v, give: give})
	return v
}

// wordsOf is the length of a line of terms in a packed operand.
func wordsOf(terms int, narrow bool) int {
	if narrow {
		return ceilDiv(terms, 2)
	}
	return terms
}

// keptRows returns panels of kr.mr rows of the weights w as a left operand, or nil.
func (e *Engine) keptRows(w view, m matrix, rows, terms int, narrow bool) []float32 {
	return e.keptPanels(w, m, packedLeft, e.kernels.mr, e.kernels.mr, !m.trans, rows, terms, narrow)
}

// keptCols returns panels of kr.nr columns of the weights w as a right operand, or nil.
func (e *Engine) keptCols(w view, m matrix, cols, terms int, narrow bool) []float32 {
	return e.keptPanels(w, m, packedRight, e.kernels.nr, e.kernels.vec, m.trans, cols, terms, narrow)
}

func (e *Engine) keptPanels(w view, m matrix, form packedForm, size, fill int, along bool, lines, terms int, narrow bool) []float32 {
	panels, words := ceilDiv(lines, size), wordsOf(terms, narrow)
	return e.kept(w, packing{form, lines, terms, narrow}, panels*size*words, func(dst []float32) {
		e.pool.run(panels, func(worker, i int) {
			line := i * size
			m.packPanels(e.kernels, &e.scratch.workers[worker], dst[line*words:][:size*words], size, fill, along, line, min(size, lines-line), 0, terms, narrow)
		})
	})
}
