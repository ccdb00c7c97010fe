package weights

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// memoWriter writes pickles as Python does: every string, tuple and global that
// it makes gets a slot in the memo, and is fetched from there the next time.
type memoWriter struct {
	strings.Builder
	slots int
	seen  map[string]int
}

func (w *memoWriter) put() {
	w.WriteString("r")
	w.Write(binary.LittleEndian.AppendUint32(nil, uint32(w.slots)))
	w.slots++
}

// once writes op, or fetches it.
func (w *memoWriter) once(op string) {
	if slot, ok := w.seen[op]; ok {
		w.WriteString("j")
		w.Write(binary.LittleEndian.AppendUint32(nil, uint32(slot)))
		return
	}
	w.seen[op] = w.slots
	w.WriteString(op)
	w.put()
}

func (w *memoWriter) scalar(name, key string, legacy bool) {
	w.once(pyString(name))
	w.once("ctorch._utils\n_rebuild_tensor_v2\n")
	w.WriteString("((")
	w.once(pyString("storage"))
	w.once("ctorch\nFloatStorage\n")
	w.once(pyString(key))
	w.once(pyString("cpu"))
	w.WriteString("K\x01")
	if legacy {
		w.WriteString("N")
	}
	w.WriteString("t")
	w.put()
	w.WriteString("QK\x00))\x89")
	w.once("ccollections\nOrderedDict\n")
	w.WriteString(")R")
	w.put()
	w.WriteString("t")
	w.put()
	w.WriteString("R")
	w.put()
}

// TestHonestFilesOfTinyTensorsAreNotRefused: files whose description is far
// larger than their data, the worst case for the bound on memory.
func TestHonestFilesOfTinyTensorsAreNotRefused(t *testing.T) {
	for _, n := range []int{10, 1000, 20000} {
		for _, legacy := range []bool{false, true} {
			w := &memoWriter{seen: map[string]int{}}
			w.WriteString("\x80\x02}")
			w.put()
			w.WriteString("(")
			entries := []string{"a/data.pkl", ""}
			var storages []byte
			var keys strings.Builder
			keys.WriteString("\x80\x02](")
			for i := range n {
				key := fmt.Sprint(93824992231936 + 64*i)
				if !legacy {
					key = fmt.Sprint(i)
				}
				if i > 0 && i%1000 == 0 {
					w.WriteString("u(") // Python's batches
				}
				w.scalar(fmt.Sprintf("layer.%d.num", i), key, legacy)
				entries = append(entries, "a/data/"+key, string(floatBytes(float32(i))))
				storages = append(storages, legacyStorage(float32(i))...)
				keys.WriteString(pyString(key))
			}
			w.WriteString("u.")
			var p []byte
			if legacy {
				p = legacyFile(w.String(), keys.String()+"e.", storages)
			} else {
				entries[1] = w.String()
				p = zipOf(t, zip.Store, entries...)
			}
			f, err := openBytes("x.pth", p)
			if err != nil {
				t.Errorf("%d scalars, legacy %v, %d bytes: %v", n, legacy, len(p), err)
				continue
			}
			if got, err := f.Float32(fmt.Sprintf("layer.%d.num", n-1)); err != nil || got[0] != float32(n-1) {
				t.Errorf("%v, %v", got, err)
			}
			if n == 20000 {
				used := allocated(func() { _, err = openBytes("x.pth", p) })
				t.Logf("legacy %v: %d bytes, %.2f times", legacy, len(p), float64(used)/float64(len(p)))
			}
		}
	}
	var header strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&header, `"layer.%d.num":{"dtype":"F32","shape":[1],"data_offsets":[%d,%d]},`, i, 4*i, 4*i+4)
	}
	p := safetensorsOf("{"+strings.TrimSuffix(header.String(), ",")+"}", make([]byte, 80000))
	var err error
	used := allocated(func() { _, err = openBytes("x.safetensors", p) })
	t.Logf("safetensors: %d bytes, %.2f times", len(p), float64(used)/float64(len(p)))
	if err != nil {
		t.Error(err)
	}
}
