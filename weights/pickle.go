package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// ErrUnsafePickle is in the chain of errors for a PyTorch file whose pickle names
// functions that only an attack has a use for, holds tensors of a kind that is not
// read, or is a network saved as a whole.
var ErrUnsafePickle = errors.New("the pickle asks for more than plain values and tensors")

// unpickler interprets the part of Python's pickle language (protocols 1 to 5)
// that builds plain values. It cannot call anything: REDUCE is a switch over the
// globals in knownGlobal, and makes an unread object of what any other returns.
type unpickler struct {
	r      *pickleReader
	budget *budget
	// persistent turns the argument of BINPERSID into a value.
	persistent func(id any) (any, error)

	stack []any
	marks []int
	// memo has a key for every slot that the pickle will fetch; see scan.
	memo   map[uint32]any
	stored uint32   // number of slots stored so far
	free   []*tuple // to be used again
	// tensors counts those built.
	tensors int
	script  bool // the pickle of a TorchScript archive
}

const (
	// maxMarks bounds open brackets; a state dict has a handful.
	maxMarks = 1000
	// sizes for the budget: an interface, and the header of an object.
	slotSize, objectSize, dictSize = 16, 48, 24
)

// run reads one pickle up to its STOP.
func (u *unpickler) run() (any, error) {
	if err := u.scan(); err != nil {
		return nil, err
	}
	for {
		at := u.r.offset()
		op, err := u.r.byte()
		if err != nil {
			return nil, err
		}
		if op == '.' {
			if len(u.marks) > 0 {
				return nil, fmt.Errorf("pickle byte %d: it stops inside a bracket", at)
			}
			if len(u.stack) != 1 {
				return nil, fmt.Errorf("pickle byte %d: it stops with %d values instead of one", at, len(u.stack))
			}
			return u.stack[0], nil
		}
		known, err := u.literal(op)
		if err == nil && !known {
			known, err = u.structure(op)
		}
		if err != nil {
			return nil, fmt.Errorf("pickle byte %d: %w", at, err)
		}
		if !known {
			return nil, fmt.Errorf("pickle byte %d: %w: opcode %s", at, ErrUnsafePickle, opcodeName(op))
		}
	}
}

// opcodeName names the opcodes that are refused.
func opcodeName(op byte) string {
	switch op {
	case 0x82, 0x83, 0x84:
		return fmt.Sprintf("%#02x looks up a registered class", op)
	}
	return fmt.Sprintf("%#02x is none that torch.save writes", op)
}

// grow appends to a slice whose memory the budget pays for. It doubles where
// append would grow large slices by a quarter, so that all copies together take
// no more than twice the last.
func (u *unpickler) grow(s []any, items ...any) ([]any, error) {
	if need := len(s) + len(items); need > cap(s) {
		room := max(need, 2*cap(s), 4)
		if err := u.budget.take(slotSize * int64(room)); err != nil {
			return nil, err
		}
		s = append(make([]any, 0, room), s...)
	}
	return append(s, items...), nil
}

func (u *unpickler) push(v any) (err error) {
	u.stack, err = u.grow(u.stack, v)
	return err
}

// floor is the height below which the innermost bracket may not reach.
func (u *unpickler) floor() int {
	if n := len(u.marks); n > 0 {
		return u.marks[n-1]
	}
	return 0
}

var errStack = errors.New("a value is used that is not there")

func (u *unpickler) pop() (any, error) {
	n := len(u.stack)
	if n <= u.floor() {
		return nil, errStack
	}
	v := u.stack[n-1]
	u.stack = u.stack[:n-1]
	return v, nil
}

func (u *unpickler) top() (any, error) {
	if len(u.stack) <= u.floor() {
		return nil, errStack
	}
	return u.stack[len(u.stack)-1], nil
}

// popMark closes the innermost bracket and returns what it holds, valid until
// the next push.
func (u *unpickler) popMark() ([]any, error) {
	n := len(u.marks)
	if n == 0 {
		return nil, errors.New("a bracket is closed that was not opened")
	}
	m := u.marks[n-1]
	u.marks = u.marks[:n-1]
	items := u.stack[m:]
	u.stack = u.stack[:m]
	return items, nil
}

// literal handles opcodes that push a value of their own.
func (u *unpickler) literal(op byte) (known bool, err error) {
	switch op {
	case 'N':
		return true, u.push(nil)
	case 0x88:
		return true, u.push(true)
	case 0x89:
		return true, u.push(false)
	case 'K', 'M', 'J', 'G':
		return true, u.number(op)
	case 0x8a, 0x8b: // LONG1, LONG4
		return true, u.long(op)
	case 'U', 'T', 'C', 'B', 0x8e, 0x96, 'X', 0x8c, 0x8d:
		return true, u.text(op)
	case ')':
		t, err := u.newTuple(nil)
		if err != nil {
			return true, err
		}
		return true, u.push(t)
	case ']', 0x8f:
		return true, u.object(&pyList{})
	case '}':
		return true, u.dictionary()
	}
	return false, nil
}

func (u *unpickler) dictionary() error {
	if err := u.budget.take(dictSize); err != nil {
		return err
	}
	return u.push(&pyDict{})
}

// object pushes a value that takes memory of its own.
func (u *unpickler) object(v any) error {
	if err := u.budget.take(objectSize); err != nil {
		return err
	}
	return u.push(v)
}

// operandWidth returns the bytes of the number that follows an opcode.
func operandWidth(op byte) int {
	switch op {
	case 'K', 'U', 'C', 0x8c, 0x8a, 'q', 'h':
		return 1
	case 'M':
		return 2
	case 'J', 'T', 'B', 'X', 0x8b, 'r', 'j':
		return 4
	}
	return 8 // G, BINUNICODE8, BINBYTES8, BYTEARRAY8
}

func (u *unpickler) number(op byte) error {
	p, err := u.r.bytes(operandWidth(op))
	if err != nil {
		return err
	}
	switch op {
	case 'K':
		return u.push(int64(p[0]))
	case 'M':
		return u.push(int64(binary.LittleEndian.Uint16(p)))
	case 'J':
		return u.push(int64(int32(binary.LittleEndian.Uint32(p))))
	}
	return u.push(math.Float64frombits(binary.BigEndian.Uint64(p)))
}

// long reads a two's complement integer of any length.
func (u *unpickler) long(op byte) error {
	n, err := u.length(operandWidth(op))
	if err != nil {
		return err
	}
	p, err := u.r.long(n, u.budget)
	if err != nil {
		return err
	}
	if len(p) <= 8 {
		var v int64
		for i, b := range p {
			v |= int64(b) << (8 * i)
		}
		if shift := 64 - 8*len(p); len(p) > 0 {
			v = v << shift >> shift // extend the sign
		}
		return u.push(v)
	}
	if err := u.budget.take(int64(len(p)) + objectSize); err != nil {
		return err
	}
	negative := p[len(p)-1]&0x80 != 0
	for i, j := 0, len(p)-1; i < j; i, j = i+1, j-1 {
		p[i], p[j] = p[j], p[i]
	}
	v := new(big.Int).SetBytes(p)
	if negative {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(p))))
	}
	return u.push(v)
}

// length reads an unsigned length of the given width.
func (u *unpickler) length(width int) (uint64, error) {
	p, err := u.r.bytes(width)
	if err != nil {
		return 0, err
	}
	var n uint64
	for i, b := range p {
		n |= uint64(b) << (8 * i)
	}
	return n, nil
}

func (u *unpickler) text(op byte) error {
	n, err := u.length(operandWidth(op))
	if err != nil {
		return err
	}
	if op == 'C' || op == 'B' || op == 0x8e || op == 0x96 { // 0x96: BYTEARRAY8
		p, err := u.r.long(n, u.budget)
		if err != nil {
			return err
		}
		return u.object(p)
	}
	str, err := u.r.text(n, u.budget)
	if err != nil {
		return err
	}
	// Python 2 strings (U, T) have no encoding; names in them are ASCII.
	if op != 'U' && op != 'T' && !utf8.ValidString(str) {
		return fmt.Errorf("the string %q is not UTF-8", strings.ToValidUTF8(str[:min(len(str), 40)], "?"))
	}
	if err := u.budget.take(slotSize); err != nil {
		return err
	}
	return u.push(str)
}
