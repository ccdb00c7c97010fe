package weights

import (
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"
)

// runPickle interprets a pickle with a budget for its size.
func runPickle(p string) (any, error) {
	u := &unpickler{r: newPickleReader(strings.NewReader(p), int64(len(p))), budget: newBudget(int64(len(p)))}
	return u.run()
}

// tup is a tuple, to be compared without regard to kept.
func tup(items ...any) *tuple { return &tuple{items: items} }

func TestPickleValues(t *testing.T) {
	huge, _ := new(big.Int).SetString("1180591620717411303424", 10)
	for _, c := range []struct {
		name, pickle string
		want         any
	}{
		{"none", "N.", nil},
		{"booleans", "\x80\x02\x88\x89\x86.", tup(true, false)},
		{"one byte", "K\xff.", int64(255)},
		{"two bytes", "M\x00\x01.", int64(256)},
		{"four bytes, negative", "J\xfe\xff\xff\xff.", int64(-2)},
		{"long of no bytes", "\x8a\x00.", int64(0)},
		{"long, negative", "\x8a\x02\x00\x80.", int64(-32768)},
		{"long of 8 bytes", "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.", int64(-1 << 63)},
		{"long of 9 bytes", "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x40.", huge},
		{"long of 9 bytes, negative", "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\xff.", big.NewInt(-1)},
		{"long with a 4-byte length", "\x8b\x01\x00\x00\x00\x05.", int64(5)},
		{"float", "G\x3f\xe0\x00\x00\x00\x00\x00\x00.", 0.5},
		{"Python 2 string", "U\x02hi.", "hi"},
		{"string of protocol 4", "\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x02hi\x94.", "hi"},
		{"bytes", "C\x02\xff\x00.", []byte{255, 0}},
		{"list built by APPEND and APPENDS", "]K\x01a(K\x02K\x03e.", &pyList{[]any{int64(1), int64(2), int64(3)}}},
		{"list built by LIST", "(K\x01l.", &pyList{[]any{int64(1)}}},
		{"set of protocol 4", "\x8f(K\x01\x90.", &pyList{[]any{int64(1)}}},
		{"set of protocol 2", "cbuiltins\nset\n](K\x01e\x85R.", &pyList{[]any{int64(1)}}},
		{"dictionary by SETITEM", "}K\x01K\x02s.", &pyDict{[]any{int64(1), int64(2)}}},
		{"dictionary by DICT", "(K\x01K\x02d.", &pyDict{[]any{int64(1), int64(2)}}},
		{"OrderedDict of pairs, as Python 2 writes it", "ccollections\nOrderedDict\n](](K\x01K\x02ee\x85R.", &pyDict{[]any{int64(1), int64(2)}}},
		{"Counter of a dictionary", "ccollections\nCounter\n}K\x01K\x02s\x85R.", &pyDict{[]any{int64(1), int64(2)}}},
		{"state of an OrderedDict is dropped", "ccollections\nOrderedDict\n)R}" + pyString("_metadata") + "Nsb.", &pyDict{}},
		{"memo by number", "K\x07q\x05h\x05\x86.", tup(int64(7), int64(7))},
		{"memo in sequence", "K\x07\x94h\x00\x86.", tup(int64(7), int64(7))},
		{"pop, pop to mark, dup", "K\x01K\x020(K\x03K\x0412\x86.", tup(int64(1), int64(1))},
		{"size", "ctorch\nSize\n" + pyInts(2, 3) + "\x85R.", tup(int64(2), int64(3))},
		{"device", "ctorch\ndevice\n" + pyString("cuda") + "K\x00\x86R.", "cuda"},
		{"defaultdict", "ccollections\ndefaultdict\ncbuiltins\nlist\n\x85RK\x01K\x02s.", &pyDict{[]any{int64(1), int64(2)}}},
		{"frozenset of protocol 2", "cbuiltins\nfrozenset\n](K\x01e\x85R.", &pyList{[]any{int64(1)}}},
		{"bytearray of protocol 5", "\x96\x02\x00\x00\x00\x00\x00\x00\x00\xff\x00.", []byte{255, 0}},
		{"OrderedDict by NEWOBJ", "ccollections\nOrderedDict\n)\x81.", &pyDict{}},
		{"OrderedDict by OBJ", "(ccollections\nOrderedDict\no.", &pyDict{}},
		{"OrderedDict by INST", "(icollections\nOrderedDict\n.", &pyDict{}},
		{"unknown class called", "cdatetime\ndatetime\nC\x01a\x85R.", &pyObject{class: "datetime.datetime"}},
		{"unknown class by NEWOBJ, with its attributes", "cargparse\nNamespace\n)\x81}" + pyString("lr") + "K\x01sb.", &pyObject{class: "argparse.Namespace"}},
		{"unknown class by NEWOBJ_EX", "cargparse\nNamespace\n)}\x92.", &pyObject{class: "argparse.Namespace"}},
		{"unknown class by OBJ", "(cx\nY\nK\x01o.", &pyObject{class: "x.Y"}},
		{"unknown class by INST", "(K\x01ix\nY\n.", &pyObject{class: "x.Y"}},
		{"state that is a tuple", "cnumpy\ndtype\n" + pyString("f8") + "\x85R(K\x03Ntb.", &pyObject{class: "numpy.dtype"}},
		{"what a call returns is called", "cbuiltins\ngetattr\nNN\x86R)R.", &pyObject{class: "builtins.getattr"}},
		{"class that extends dict", "cx\nY\n)\x81K\x01K\x02s.", &pyObject{class: "x.Y", keyed: pyDict{[]any{int64(1), int64(2)}}}},
		{"class that extends list", "cx\nY\n)\x81(K\x01e.", &pyObject{class: "x.Y", list: pyList{[]any{int64(1)}}}},
		{"network as a whole", "cx\nNet\n)\x81}(" + pyString("_parameters") + "}" + pyString("_modules") + "}ub.", &pyObject{class: "x.Net", module: true}},
		{"global of protocol 4", "\x8c\x0bcollections\x8c\x0bOrderedDict\x93)R.", &pyDict{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := runPickle(c.pickle)
			if x, ok := got.(*tuple); ok {
				x.kept = false
			}
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%#v (%v), want %#v", got, err, c.want)
			}
		})
	}
}

func TestPicklesThatAskForCodeAreRefusedByName(t *testing.T) {
	for pickle, name := range map[string]string{
		"cos\nsystem\n" + pyString("touch x") + "\x85R.":        "os.system",
		"cposix\nsystem\n" + pyString("touch x") + "\x85R.":     "posix.system",
		"c__builtin__\neval\n" + pyString("1") + "\x85R.":       "builtins.eval",
		"\x8c\x02os\x8c\x06system\x93.":                         "os.system",
		"ctorch\nload\n.":                                       "torch.load",
		"cos\nsystem\n(" + pyString("touch x") + "o.":           "os.system",
		"(" + pyString("touch x") + "ios\nsystem\n.":            "os.system",
		"cos\nsystem\n" + pyString("touch x") + "\x85\x81.":     "os.system",
		"cos\nsystem\n)}\x92.":                                  "os.system",
		"cimportlib._bootstrap\n_gcd_import\n.":                 "importlib._bootstrap._gcd_import",
		"ctorch._utils\n_rebuild_sparse_tensor\n)R.":            "sparse",
		"ctorch.storage\n_load_from_bytes\nC\x00\x85R.":         "_load_from_bytes",
		"ctorch._utils\n_rebuild_qtensor\n)R.":                  "_rebuild_qtensor",
		"\x82\x01.":                                             "registered class",
		"ctorch\nFloatStorage\n)R.":                             "torch.FloatStorage",
		"ctorch\nfloat32\n)R.":                                  "torch.float32",
		"]N\x85R.":                                              "it calls a list",
		"ccollections\nOrderedDict\n)R]b.":                      "sets the state",
		"]}b.":                                                  "sets the state of a list",
		"ctorch._tensor\n_rebuild_from_type_v2\n(cos\nx\nN)NtR": "os.x",
	} {
		_, err := runPickle(pickle)
		if !errors.Is(err, ErrUnsafePickle) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v, want %q in it", pickle, err, name)
		}
	}
}

func TestBrokenPickles(t *testing.T) {
	for pickle, want := range map[string]string{
		"":                                       "cut off",
		"\x80\x02":                               "cut off",
		"\x80\x09N.":                             "protocol 9",
		"X\xff\xff\xff\xffab":                    "of which 2 are there",
		"\x8d\xff\xff\xff\xff\xff\xff\xff\xffab": "of which 2 are there",
		"X\x02\x00\x00\x00\xff\xfe.":             "not UTF-8",
		"\x8a\xff\x01":                           "of which 1 are there",
		"h\x05.":                                 "slot 5",
		"Nq\x05h\x04.":                           "slot 4",
		"j\xff\xff\xff\xff.":                     "slot 4294967295",
		".":                                      "0 values",
		"NN.":                                    "2 values",
		"(N.":                                    "inside a bracket",
		"t.":                                     "a bracket is closed",
		"\x85.":                                  "not there",
		"N(\x85.":                                "not there",
		"0.":                                     "not there",
		"2.":                                     "not there",
		"N(2.":                                   "not there",
		"a.":                                     "not there",
		"NNa.":                                   "appended to None",
		"}(Nu.":                                  "a key without a value",
		"](NNu.":                                 "keys are set in a list",
		"Q.":                                     "not there",
		"NQ.":                                    "outside the pickle",
		"NN\x93.":                                "not a short string",
		"c" + strings.Repeat("x", 300):           "longer than",
		"ccollections\nOrderedDict\nN\x85R.":     "do not fit",
		"ccollections\nOrderedDict\n]Na\x85R.":   "not pairs",
		"ctorch\nSize\n)R.":                      "do not fit",
		"ctorch._utils\n_rebuild_tensor_v2\n)R.": "0 arguments",
		"\x01.":                                  "opcode 0x01",
		"NN\x81.":                                "arguments are None",
		"N)\x81.":                                "it calls None",
		"(o.":                                    "not there",
		"i.":                                     "cut off",
		strings.Repeat("(", 2000):                "brackets",
	} {
		_, err := runPickle(pickle)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", pickle, err, want)
		}
	}
}

func TestPickleLongerThanItsBuffer(t *testing.T) {
	long := strings.Repeat("0123456789", 5000)
	p := "("
	for range 300 {
		p += pyString(long[:1000]) + "K\x01"
	}
	p += pyString(long) + "K\x02t."
	got, err := runPickle(p)
	if err != nil {
		t.Fatal(err)
	}
	items := got.(*tuple).items
	if len(items) != 602 || items[0] != long[:1000] || items[599] != int64(1) || items[600] != long || items[601] != int64(2) {
		t.Errorf("%d items, the last %v", len(items), items[len(items)-1])
	}
}
