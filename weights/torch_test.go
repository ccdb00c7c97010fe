package weights

import (
	"archive/zip"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
)

// legacyFile is a file in the legacy format.
func legacyFile(object, keys string, storages ...[]byte) []byte {
	p := []byte(legacyStart + object + keys)
	for _, s := range storages {
		p = append(p, s...)
	}
	return p
}

// legacyStorage is a storage of float32 with its length.
func legacyStorage(data ...float32) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(data))), floatBytes(data...)...)
}

// pyLegacyRef refers to storage "0" through a view, or None.
func pyLegacyRef(elems int, view string) string {
	return "(" + pyString("storage") + "ctorch\nFloatStorage\n" + pyString("0") + pyString("cpu") + pyInt(elems) + view + "tQ"
}

func pyLegacyTensor(ref string, offset int, size, stride []int) string {
	return "ctorch._utils\n_rebuild_tensor\n(" + ref + pyInt(offset) + pyInts(size...) + pyInts(stride...) + "tR"
}

const legacyKeys = "\x80\x02](X\x01\x00\x00\x000e."

func TestLegacyViewOfAStorage(t *testing.T) {
	// Elements 1 and 2 of the storage, read from the second one on.
	view := "(" + pyString("9") + pyInt(1) + pyInt(3) + "t"
	object := pyStateDict("a", pyLegacyTensor(pyLegacyRef(4, "N"), 0, []int{4}, []int{1}),
		"b", pyLegacyTensor(pyLegacyRef(4, view), 1, []int{2}, []int{1}))
	f, err := openBytes("x.pth", legacyFile(object, legacyKeys, legacyStorage(10, 11, 12, 13)))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float32{"a": {10, 11, 12, 13}, "b": {12, 13}} {
		if got, err := f.Float32(name); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestBrokenLegacyFiles(t *testing.T) {
	tensor := pyLegacyTensor(pyLegacyRef(2, "N"), 0, []int{2}, []int{1})
	data := legacyStorage(1, 2)
	for _, c := range []struct {
		name, want string
		content    []byte
	}{
		{"another protocol", "protocol version 1002", []byte(strings.Replace(legacyStart, "M\xe9\x03", "M\xea\x03", 1) + "N.")},
		{"system that is no dictionary", "description of the system", []byte(strings.Replace(legacyStart, "}.", "N.", 1) + "N.")},
		{"big-endian machine", "big-endian", []byte(strings.Replace(legacyStart, "}.", "}"+pyString("little_endian")+"\x89s.", 1) + "N.")},
		{"whole module", "whole module", legacyFile("("+pyString("module")+"NNNtQ.", legacyKeys)},
		{"reference that is no tuple", "instead of a tuple", legacyFile("NQ.", legacyKeys)},
		{"reference to something else", "other than a storage", legacyFile("("+pyString("file")+"tQ.", legacyKeys)},
		{"reference with too few parts", "of 2 parts", legacyFile("("+pyString("storage")+"NtQ.", legacyKeys)},
		{"reference with wrong parts", "a storage reference of", legacyFile("("+pyString("storage")+"NNNNtQ.", legacyKeys)},
		{"view outside the storage", "does not lie in its 2", legacyFile(pyStateDict("a", pyLegacyTensor(pyLegacyRef(2, "("+pyString("9")+pyInt(1)+pyInt(2)+"t"), 0, []int{1}, []int{1})), legacyKeys, data)},
		{"view that is no tuple", "its view", legacyFile(pyStateDict("a", pyLegacyTensor(pyLegacyRef(2, "K\x01"), 0, []int{1}, []int{1})), legacyKeys, data)},
		{"keys that are no list", "the list of storages is None", legacyFile(pyStateDict("a", tensor), "N.", data)},
		{"key that is no string", "instead of a string", legacyFile(pyStateDict("a", tensor), "](K\x01e.", data)},
		{"storage without a tensor", "belongs to no tensor", legacyFile(pyStateDict(), legacyKeys, data)},
		{"storage listed twice", "listed twice", legacyFile(pyStateDict("a", tensor), "]("+pyString("0")+pyString("0")+"e.", data, data)},
		{"storage not listed", "not in the file", legacyFile(pyStateDict("a", tensor), "].")},
		{"storage of another length", "has 3 elements, its tensors expect 2", legacyFile(pyStateDict("a", tensor), legacyKeys, legacyStorage(1, 2, 3))},
		{"storage without its length", "before its size", legacyFile(pyStateDict("a", tensor), legacyKeys, []byte("abc"))},
		{"storage of two sizes", "is once 2 elements", legacyFile(pyStateDict("a", tensor, "b", pyLegacyTensor(pyLegacyRef(3, "N"), 0, []int{2}, []int{1})), legacyKeys, data)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := readAll("x.pth", c.content); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
		})
	}
}

func TestTensorsInEveryWrapping(t *testing.T) {
	inner := "(" + pyStorageRef("FloatStorage", 2) + "K\x00" + pyInts(2) + pyInts(1) + "\x89}t"
	plain := "ctorch._utils\n_rebuild_tensor_v2\n" + inner + "R"
	untyped := "(" + pyString("storage") + "ctorch.storage\nUntypedStorage\n" + pyString("0") + pyString("cpu") + pyInt(8) + "tQ"
	for name, value := range map[string]string{
		"parameter":              "ctorch._utils\n_rebuild_parameter\n(" + plain + "\x88}tR",
		"parameter with state":   "ctorch._utils\n_rebuild_parameter_with_state\n(" + plain + "\x88}}tR",
		"tensor with attributes": "ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\nctorch.nn.parameter\nParameter\n" + inner + "}tR",
		"state set by BUILD":     plain + "}b",
		"stored on a GPU":        strings.Replace(plain, "ctorch\nFloat", "ctorch.cuda\nFloat", 1),
		"size as torch.Size":     strings.Replace(plain, pyInts(2)+pyInts(1), "ctorch\nSize\n"+pyInts(2)+"\x85R"+pyInts(1), 1),
		"untyped storage":        "ctorch._utils\n_rebuild_tensor_v3\n(" + untyped + "K\x00" + pyInts(2) + pyInts(1) + "\x89}ctorch\nfloat32\ntR",
	} {
		f, err := openBytes("x.pth", torchZip(t, pyStateDict("w", value), floatBytes(3, 4)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := f.Float32("w"); err != nil || !reflect.DeepEqual(got, []float32{3, 4}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestTensorsThatAreRefused(t *testing.T) {
	untyped := "(" + pyString("storage") + "ctorch.storage\nUntypedStorage\n" + pyString("0") + pyString("cpu") + pyInt(8) + "tQ"
	rebuild := func(v, args string) string { return "ctorch._utils\n_rebuild_tensor_" + v + "\n(" + args + "tR" }
	ref := pyStorageRef("FloatStorage", 2)
	for name, c := range map[string]struct{ value, want string }{
		"untyped storage without a dtype": {rebuild("v2", untyped+"K\x00"+pyInts(2)+pyInts(1)+"\x89}"), "untyped storage needs a dtype"},
		"typed storage with a dtype":      {rebuild("v3", ref+"K\x00"+pyInts(2)+pyInts(1)+"\x89}ctorch\nfloat32\n"), "typed one has its own"},
		"dtype that is none":              {rebuild("v3", untyped+"K\x00"+pyInts(2)+pyInts(1)+"\x89}N"), "its dtype is None"},
		"beyond an untyped storage":       {rebuild("v3", untyped+"K\x01"+pyInts(2)+pyInts(1)+"\x89}ctorch\nfloat32\n"), "outside the storage"},
		"packed type with strides":        {rebuild("v3", untyped+"K\x00"+pyInts(2)+pyInts(1)+"\x89}ctorch\nfloat4_e2m1\n"), "packed"},
		"lazily conjugated":               {rebuild("v2", ref+"K\x00"+pyInts(2)+pyInts(1)+"\x89}}"+pyString("conj")+"\x88s"), "resolve_conj"},
		"no storage":                      {rebuild("v2", "NK\x00))\x89}"), "its storage is None"},
		"offset that is no number":        {rebuild("v2", ref+"N))\x89}"), "its offset is None"},
		"size that is no tuple":           {rebuild("v2", ref+"K\x00N)\x89}"), "its size"},
		"stride of strings":               {rebuild("v2", ref+"K\x00)("+pyString("a")+"t\x89}"), "its stride"},
		"65 dimensions":                   {rebuild("v2", ref+"K\x00"+pyInts(make([]int, 65)...)+")\x89}"), "65 dimensions"},
		"negative stride":                 {pyTensorOf("FloatStorage", 2, 1, []int{2}, []int{-1}), "a stride is negative"},
		"offset at the end":               {pyTensorOf("FloatStorage", 2, 2, []int{1}, []int{1}), "outside the storage"},
	} {
		err := readAll("x.pth", torchZip(t, pyStateDict("w", c.value), floatBytes(3, 4)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
}

func TestNamesOfNestedTensors(t *testing.T) {
	w := pyTensorOf("FloatStorage", 2, 0, []int{2}, []int{1})
	pickle := "\x80\x02}(" + pyString("list") + "](" + w + "}" + pyString("x") + w + "se" + // list/0, list/1/x
		"K\x07" + "}" + pyString("y") + w + "s" + // 7/y
		"\x88" + w + "N" + w + "G\x3f\xe0\x00\x00\x00\x00\x00\x00" + w + // true, None, 0.5
		pyString("plain") + "](K\x01}" + pyString("k") + "Nse" + "u."
	f, err := openBytes("x.pth", torchZip(t, pickle, floatBytes(3, 4)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Names(), []string{"list/0", "list/1/x", "7/y", "true", "None", "0.5"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := f.Values(), (map[string]any{"plain": []any{int64(1), map[string]any{"k": nil}}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for pickle, want := range map[string]string{
		pyStateDict("a/b", w, "a", "}"+pyString("b")+w+"s"): "appears twice",
		"}" + pyString("a") + w + pyString("a"):             "cut off",
	} {
		if err := readAll("x.pth", torchZip(t, pickle, floatBytes(3, 4))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

// TestStridesAgreeWithIndexing checks the scattered reader against the definition
// on all permutations, steps and overlaps of a small storage.
func TestStridesAgreeWithIndexing(t *testing.T) {
	const n = 60
	data := ramp(n)
	for _, c := range []struct {
		offset       int
		size, stride []int
	}{
		{0, []int{3, 4, 5}, []int{20, 5, 1}}, {0, []int{3, 5, 4}, []int{20, 1, 5}}, {0, []int{4, 3, 5}, []int{5, 20, 1}},
		{0, []int{4, 5, 3}, []int{5, 1, 20}}, {0, []int{5, 3, 4}, []int{1, 20, 5}}, {0, []int{5, 4, 3}, []int{1, 5, 20}},
		{7, []int{2, 3}, []int{20, 2}}, {1, []int{2, 0, 3}, []int{1, 1, 1}}, {3, []int{4, 4}, []int{1, 1}}, {59, []int{3, 2}, []int{0, 0}},
		{5, []int{3, 1, 2}, []int{0, 77, 10}}, {2, []int{10, 8}, []int{1, 6}}, {4, nil, nil}, {0, []int{1, 1}, []int{9, 9}},
	} {
		f, err := openBytes("x.pth", torchZip(t, pyStateDict("w", pyTensorOf("FloatStorage", n, c.offset, c.size, c.stride)), floatBytes(data...)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Float32("w")
		if err != nil {
			t.Fatal(err)
		}
		at := make([]int, len(c.size))
		for i, g := range got {
			from := c.offset
			rest := i
			for d := len(at) - 1; d >= 0; d-- {
				from += rest % c.size[d] * c.stride[d]
				rest /= c.size[d]
			}
			if g != data[from] {
				t.Errorf("%+v: element %d is %v, want %v", c, i, g, data[from])
			}
		}
	}
}

func TestDeflatedStorageWithStrides(t *testing.T) {
	pickle := pyStateDict("w", pyTensorOf("FloatStorage", 4, 0, []int{2, 2}, []int{1, 2}))
	p := zipOf(t, zip.Deflate, "a/data.pkl", pickle, "a/data/0", string(floatBytes(0, 1, 2, 3)))
	f, err := openBytes("x.pth", p)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Float32("w"); err != nil || !reflect.DeepEqual(got, []float32{0, 2, 1, 3}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestElementsFarApart(t *testing.T) {
	const n, step = 1 << 20, 1 << 14 // 64 KiB from one element to the next
	data := ramp(n)
	size := []int{4, 5, 6, 7, 8, 9}
	pickle := pyStateDict("w", pyTensorOf("FloatStorage", n, 3, size, []int{step, step, step, step, step, step}))
	f, err := openBytes("x.pth", torchZip(t, pickle, floatBytes(data...)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Float32("w")
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range got {
		sum := 0 // of the indices
		for rest, d := i, len(size)-1; d >= 0; d-- {
			sum += rest % size[d]
			rest /= size[d]
		}
		if g != data[3+sum*step] {
			t.Fatalf("element %d is %v, want %v", i, g, data[3+sum*step])
		}
	}
}
