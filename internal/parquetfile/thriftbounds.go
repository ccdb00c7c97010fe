package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Headers of parquet files are structures of Thrift's compact protocol
// (github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md). Strings
// and lists begin with their length, of which a decoder makes room before it reads
// them. thriftLength walks over a structure, so that no length claims more than there is.

// maxThriftDepth is how deep structures may stand in each other; parquet's are less.
const maxThriftDepth = 16

// Types of fields and elements.
const (
	thriftStop = iota
	thriftTrue
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

var errThriftCut = errors.New("it ends within a value, or a length claims more than there is")

// thriftLength is the number of bytes of the structure that b begins with.
func thriftLength(b []byte) (int, error) {
	w := thriftWalk{b: b}
	if err := w.structure(0); err != nil {
		return 0, err
	}
	return w.at, nil
}

type thriftWalk struct {
	b  []byte
	at int
}

func (w *thriftWalk) skip(n uint64) error {
	if n > uint64(len(w.b)-w.at) {
		return errThriftCut
	}
	w.at += int(n)
	return nil
}

func (w *thriftWalk) byte() (byte, error) {
	if err := w.skip(1); err != nil {
		return 0, err
	}
	return w.b[w.at-1], nil
}

func (w *thriftWalk) varint() (uint64, error) {
	v, n := binary.Uvarint(w.b[w.at:])
	if n <= 0 {
		return 0, errThriftCut
	}
	w.at += n
	return v, nil
}

func (w *thriftWalk) structure(depth int) error {
	if depth > maxThriftDepth {
		return fmt.Errorf("structures stand more than %d deep in each other", maxThriftDepth)
	}
	for {
		head, err := w.byte()
		if err != nil {
			return err
		}
		if head == thriftStop {
			return nil
		}
		if head>>4 == 0 { // the field's number follows, otherwise the step to it
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		kind := head & 15
		if kind == thriftTrue || kind == thriftFalse {
			continue // the type is the value
		}
		if err := w.value(kind, depth); err != nil {
			return err
		}
	}
}

// value walks over a field's value or an element.
func (w *thriftWalk) value(kind byte, depth int) error {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return w.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := w.varint()
		return err
	case thriftDouble:
		return w.skip(8)
	case thriftBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thriftList, thriftSet:
		return w.list(depth)
	case thriftMap:
		return w.pairs(depth)
	case thriftStruct:
		return w.structure(depth + 1)
	}
	return fmt.Errorf("a value of the unknown type %d", kind)
}

func (w *thriftWalk) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	return w.elements(n, depth, head&15)
}

func (w *thriftWalk) pairs(depth int) error {
	n, err := w.varint()
	if err != nil || n == 0 {
		return err
	}
	kinds, err := w.byte()
	if err != nil {
		return err
	}
	return w.elements(n, depth, kinds>>4, kinds&15)
}

// elements walks over n elements of the given types in turn. An element takes a byte
// at least.
func (w *thriftWalk) elements(n uint64, depth int, kinds ...byte) error {
	if n > uint64(len(w.b)-w.at) {
		return errThriftCut
	}
	if depth > maxThriftDepth {
		return fmt.Errorf("lists stand more than %d deep in each other", maxThriftDepth)
	}
	for range n {
		for _, kind := range kinds {
			if err := w.value(kind, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
