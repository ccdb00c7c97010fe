package data

import (
	"bytes"
	"encoding/binary"
	"testing"
)

func FuzzReadMAT(f *testing.F) {
	for _, w := range []matWriter{{order: binary.LittleEndian}, {order: binary.BigEndian}} {
		f.Add(carsAnnos(w, false, []int{2, 1}))
		f.Add(carsAnnos(w, true, []int{1, 1}))
		f.Add(w.file(false, w.cells("c", []string{"a", "bc"}), w.text("t", "x")))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			t.Skip()
		}
		vars, err := readMAT(b)
		if err != nil {
			return
		}
		for name, v := range vars {
			for field, values := range v.fields {
				if len(values) > len(b) {
					t.Fatalf("%s.%s has %d values of %d bytes", name, field, len(values), len(b))
				}
			}
		}
	})
}

func TestAMATLABFileClaimsNoMoreThanItHas(t *testing.T) {
	w := matWriter{order: binary.LittleEndian}
	// A structure of 2^31-1 elements without fields, and one of many fields and elements.
	empty := w.array(mxStruct, "s", 1<<31-1, 1, w.element(miInt32, w.order.AppendUint32(nil, 1)), w.element(miInt8, nil))
	wide := w.array(mxStruct, "s", 1<<16, 1, w.element(miInt32, w.order.AppendUint32(nil, 1)), w.element(miInt8, bytes.Repeat([]byte("a"), 1<<20)))
	for name, a := range map[string][]byte{"no fields": empty, "many": wide} {
		vars, err := readMAT(w.file(false, a))
		if err == nil && len(vars["s"].fields) > 0 {
			t.Errorf("%s: read", name)
		}
	}
}

func FuzzReadIDX(f *testing.F) {
	f.Add(idxFile([]int{2, 1, 3}, []byte("abcdef")), 3)
	f.Add(idxFile([]int{2}, []byte("ab")), 1)
	f.Add(idxFile([]int{1 << 30, 1 << 30, 1 << 30}, []byte("ab")), 3)
	f.Fuzz(func(t *testing.T, b []byte, dims int) {
		if dims < 1 || dims > 4 {
			t.Skip()
		}
		x, err := readArray(bytes.NewReader(b), dims, func([]int) error { return nil })
		if err != nil {
			return
		}
		size := 1
		for _, d := range x.dims {
			size *= d
		}
		if size != len(x.data) || len(x.dims) != dims {
			t.Fatalf("%d bytes in %v", len(x.data), x.dims)
		}
	})
}
