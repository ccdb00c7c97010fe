package data

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/internal/source"
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

// FuzzFolder makes sets of folders of files with any names, one a line.
func FuzzFolder(f *testing.F) {
	var links strings.Builder
	for _, e := range imagetest.LinkEntries() {
		fmt.Fprintln(&links, e.Name)
	}
	f.Add(links.String())
	f.Add("a/1.png\na/2.png\nb/1.png\nb/2.png")
	f.Add("../a/1.png\na\\1.png\n/a/1.png\na/\n\n.a/b.png")
	f.Fuzz(func(t *testing.T, names string) {
		var list []string
		for line := range strings.SplitSeq(names, "\n") {
			if name, ok := source.EntryName(line); ok && len(list) < 1<<10 { // sources list no other
				list = append(list, name)
			}
		}
		set, err := readFolder(progress.New(t.Context(), nil), listedFiles{names: list}, "x", Options{})
		if err == nil && len(set.Items) > len(list) {
			t.Errorf("%d items of %d files", len(set.Items), len(list))
		}
	})
}

// listedFiles is a tree of files that can be listed only.
type listedFiles struct {
	source.Tree
	names []string
}

func (s listedFiles) List(*progress.Tracker) (*source.Listing, error) {
	return &source.Listing{Files: s.names}, nil
}
