package weights

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// besideStateDict is a checkpoint with objects beside its state dict, as pickle
// protocols 2 and 4 write them.
func besideStateDict(tensor string) string {
	namespace := "cargparse\nNamespace\n)\x81}(" + pyString("lr") + "G\x3f\xe0\x00\x00\x00\x00\x00\x00" + pyString("device") + "ctorch\ndevice\n" + pyString("cpu") + "\x85Rub"
	scalar := "cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\n(" + pyString("f8") + "\x89\x88tR(K\x03" + pyString("<") + "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb" +
		"c_codecs\nencode\n" + pyString("x") + pyString("latin1") + "\x86R\x86R"
	optimizer := "ctorch.optim.adam\nAdam\n)\x81}" + pyString("state") + "ccollections\ndefaultdict\nc__builtin__\ndict\n\x85R" + tensor + "}ssb"
	path := "\x8c\x07pathlib\x8c\x09PosixPath\x93" + pyString("a") + pyString("b") + "\x86R"
	items := []string{
		"state_dict", "ccollections\nOrderedDict\n)R" + pyString("w") + tensor + "s}" + pyString("_metadata") + "ccollections\nOrderedDict\n)Rsb",
		"args", namespace, "best", scalar, "optimizer", optimizer, "path", path,
		"when", "cdatetime\ndatetime\nC\x0a0123456789\x85R",
		"mode", "cbuiltins\ngetattr\ncx\nColor\n" + pyString("RED") + "\x86R",
		"config", "ceasydict\nEasyDict\n)\x81(" + pyString("ema") + "}" + pyString("w") + tensor + "s" + pyString("depth") + "K\x32u}b",
		"seen", "}(cpathlib\nPosixPath\n)RK\x01" + pyInts(1, 2) + "K\x02u",
		"history", "](cx\nEpoch\n)\x81K\x03e",
	}
	return pyStateDict(items...)
}

// TestObjectsBesideTheStateDictStayUnread holds what is read of a checkpoint, in both
// formats.
func TestObjectsBesideTheStateDictStayUnread(t *testing.T) {
	legacy := pyLegacyTensor(pyLegacyRef(2, "N"), 0, []int{2}, []int{1})
	for name, content := range map[string][]byte{
		"zip":    torchZip(t, besideStateDict(pyTensorOf("FloatStorage", 2, 0, []int{2}, []int{1})), floatBytes(3, 4)),
		"legacy": legacyFile(besideStateDict(legacy), legacyKeys, legacyStorage(3, 4)),
	} {
		f, err := openBytes("x.pth", content)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, want := f.Names(), []string{"state_dict/w", "config/ema/w"}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		for _, tensor := range f.Names() {
			if got, err := f.Float32(tensor); err != nil || !reflect.DeepEqual(got, []float32{3, 4}) {
				t.Errorf("%s: %s: %v, %v", name, tensor, got, err)
			}
		}
		want := map[string]any{
			"args": Object("argparse.Namespace"), "best": Object("numpy.core.multiarray.scalar"), "optimizer": Object("torch.optim.adam.Adam"),
			"path": Object("pathlib.PosixPath"), "when": Object("datetime.datetime"), "mode": Object("builtins.getattr"), "config/depth": int64(50),
			"seen/key 0, pathlib.PosixPath": int64(1), "seen/key 1, a tuple of 2": int64(2), "history": []any{Object("x.Epoch"), int64(3)},
		}
		if !reflect.DeepEqual(f.Values(), want) {
			t.Errorf("%s: %v, want %v", name, f.Values(), want)
		}
	}
}

func TestANetworkSavedAsAWholeIsNamed(t *testing.T) {
	tensor := pyTensorOf("FloatStorage", 2, 0, []int{2}, []int{1})
	net := "cmodels\nNet\n)\x81}(" + pyString("_parameters") + "}" + pyString("w") + tensor + "s" + pyString("_modules") + "}ub"
	legacy := strings.Replace(net, "cmodels\nNet\n", "("+pyString("module")+"cmodels\nNet\n"+pyString("net.py")+pyString("class Net")+"tQ", 1)
	for name, content := range map[string][]byte{
		"zip":               torchZip(t, net+".", floatBytes(3, 4)),
		"in a dictionary":   torchZip(t, pyStateDict("model", net, "epoch", "K\x01"), floatBytes(3, 4)),
		"legacy and source": legacyFile(strings.ReplaceAll(legacy, tensor, "N")+".", "]."),
	} {
		_, err := openBytes("x.pth", content)
		if !errors.Is(err, ErrUnsafePickle) || !strings.Contains(err.Error(), "it holds models.Net: a whole module was saved") || !strings.Contains(err.Error(), "save model.state_dict()") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Beside tensors that are something else it shows when the network is looked for.
	f, err := openBytes("x.pth", torchZip(t, pyStateDict("model", net, "momentum", tensor), floatBytes(3, 4)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Fit(f, []Spec{{Name: "w", Shape: []int{2}}}, Rules{}); err == nil || !strings.Contains(err.Error(), "models.Net: a whole module was saved") {
		t.Error(err)
	}
	// A state dict beside it is read.
	f, err = openBytes("x.pth", torchZip(t, pyStateDict("model", net, "state_dict", "}"+pyString("w")+tensor+"s"), floatBytes(3, 4)))
	if err != nil {
		t.Fatal(err)
	}
	if m, err := Fit(f, []Spec{{Name: "w", Shape: []int{2}}}, Rules{}); err != nil || m.Prefix != "state_dict/" {
		t.Errorf("%+v, %v", m, err)
	}
}
