package gallery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// state is what an index holds, as its commits say.
type state struct {
	Info
	commit
	list    []block
	unequal bool // the commits, after an interrupted append
}

// readState reads the state of an index of size bytes, and follows the chain of its
// blocks' headers. Their contents are not read.
func readState(r io.ReaderAt, size int64) (*state, error) {
	head := make([]byte, min(size, headerSize))
	if err := readFull(r, head, 0); err != nil {
		return nil, err
	}
	info, sum, err := decodeHeader(head)
	if err != nil {
		return nil, err
	}
	s := &state{Info: info}
	first, second := head[commitAt[0]:][:commitSize], head[commitAt[1]:][:commitSize]
	if err := s.settle(r, size, sum, first, second); err != nil {
		return nil, damagedf("%w", err)
	}
	return s, nil
}

// settle finds the state from the two commits. They agree, or an append was
// interrupted, which leaves one of
//
//   - the first torn: a write of the next commit over that which the second still
//     is, and the next block is whole;
//   - the second not written yet: it is the one before the first;
//   - the second torn: a write of the first over the one before it.
//
// In each the rows of that append are whole, and they count.
func (s *state) settle(r io.ReaderAt, size int64, header uint32, first, second []byte) error {
	a, wholeA := decodeCommit(first)
	b, wholeB := decodeCommit(second)
	switch {
	case !wholeA && !wholeB:
		return errors.New("neither of its commits is whole")
	case !wholeA:
		if err := s.walk(r, size, header, b); err != nil {
			return err
		}
		next, err := s.readBlock(r, size)
		if err != nil || !torn(first, b, b.next(next.blockHeader)) {
			return fmt.Errorf("its first commit is damaged; by the second it holds %d rows", b.rows)
		}
		s.list, s.unequal = append(s.list, next), true
		s.commit = b.next(next.blockHeader)
		return nil
	}
	if err := s.walk(r, size, header, a); err != nil {
		return err
	}
	if bytes.Equal(first, second) {
		return nil
	}
	s.unequal = true
	older := commit{end: headerSize, chain: header}
	if len(s.list) > 0 {
		older = a.before(s.list[len(s.list)-1].blockHeader)
	}
	if !torn(second, older, a) {
		return fmt.Errorf("its second commit is damaged; by the first it holds %d rows", a.rows)
	}
	return nil
}

// walk follows the blocks from the first to the last one of a commit.
func (s *state) walk(r io.ReaderAt, size int64, header uint32, c commit) error {
	if c.end > size {
		return fmt.Errorf("it is cut short: it has %d bytes of %d", size, c.end)
	}
	s.commit = commit{end: headerSize, chain: header}
	for s.end < c.end {
		at := s.end
		h, err := readBlockHeader(r, at, c.end, s.Dim)
		if err != nil {
			return fmt.Errorf("at byte %d: %w", at, err)
		}
		if !s.precedes(h) {
			return fmt.Errorf("the block at byte %d does not belong behind the one before it", at)
		}
		s.list = append(s.list, block{h, at, int(s.rows)})
		s.commit = s.commit.next(h)
	}
	if s.commit != c {
		return fmt.Errorf("it holds %d rows in %d blocks, but should hold %d in %d", s.rows, s.blocks, c.rows, c.blocks)
	}
	return nil
}

// readBlock reads and verifies the block behind the end.
func (s *state) readBlock(r io.ReaderAt, size int64) (block, error) {
	h, err := readBlockHeader(r, s.end, size, s.Dim)
	if err != nil {
		return block{}, err
	}
	if !s.precedes(h) {
		return block{}, errors.New("it belongs elsewhere")
	}
	b := block{h, s.end, int(s.rows)}
	_, err = b.verify(r, s.Dim)
	return b, err
}

// read makes a table of the rows that count, each block of which is verified.
func (s *state) read(r io.ReaderAt) (*Table, error) {
	all := &contents{}
	if err := all.follow(r, s); err != nil {
		return nil, err
	}
	x := make([]float32, len(all.keys)*s.Dim)
	for _, b := range s.list {
		if err := b.readRows(r, x[b.first*s.Dim:(b.first+b.rows)*s.Dim], s.Dim); err != nil {
			return nil, damagedf("%w", err)
		}
	}
	return all.table(s.Info, x), nil
}
