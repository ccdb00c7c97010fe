package weights

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// fileOf is a safetensors file in memory.
func fileOf(t *testing.T, tensors ...*Tensor) *File {
	t.Helper()
	f := &File{path: "net.pth", index: map[string]int32{}}
	for i, x := range tensors {
		f.tensors = append(f.tensors, *x)
		f.index[x.Name] = int32(i)
	}
	return f
}

func vec(t *testing.T, name string, shape ...int) *Tensor {
	t.Helper()
	n := 1
	for _, d := range shape {
		n *= d
	}
	return mustTensor(t, name, shape, ramp(n))
}

func TestEveryDifferenceIsReportedAtOnce(t *testing.T) {
	f := fileOf(t, vec(t, "conv1.weight", 2, 3), vec(t, "conv2.wieght", 4), vec(t, "bn.num_batches_tracked"), vec(t, "fc.weight", 5), vec(t, "zzz", 1))
	_, _, err := Load(f, []Spec{{Name: "conv1.weight", Shape: []int{3, 2}}, {Name: "conv2.weight", Shape: []int{4}}, {Name: "completely.different", Shape: []int{1}}},
		Rules{Ignore: []string{BatchCounts, "fc.*"}})
	var m *MismatchError
	if !errors.As(err, &m) {
		t.Fatal(err)
	}
	want := &MismatchError{Path: "net.pth",
		Missing:    []Missing{{"conv2.weight", []int{4}, "conv2.wieght"}, {"completely.different", []int{1}, ""}},
		Misshaped:  []Misshaped{{"conv1.weight", []int{3, 2}, []int{2, 3}}},
		Unexpected: []string{"conv2.wieght", "zzz"},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("%+v, want %+v", m, want)
	}
	for _, line := range []string{
		"net.pth does not fit", "2 missing", "conv2.weight [4] (the file has conv2.wieght)", "completely.different [1]\n",
		"conv1.weight: [2 3] in the file, [3 2] wanted", "zzz",
	} {
		if !strings.Contains(err.Error(), line) {
			t.Errorf("%q is not in the message:\n%v", line, err)
		}
	}
}

func TestClassifierIsNotIgnoredWithoutARule(t *testing.T) {
	f := fileOf(t, vec(t, "w", 2), vec(t, "fc.weight", 5))
	want := []Spec{{Name: "w", Shape: []int{2}}}
	if _, err := Fit(f, want, Rules{}); err == nil {
		t.Error("fc.weight was ignored by accident")
	}
	m, err := Fit(f, want, Rules{Ignore: []string{"fc.*"}})
	if err != nil || !reflect.DeepEqual(m.Ignored, []string{"fc.weight"}) {
		t.Errorf("%+v, %v", m, err)
	}
	// A rule does not hide what is wanted.
	m, err = Fit(f, append(want, Spec{Name: "fc.weight", Shape: []int{5}}), Rules{Ignore: []string{"fc.*"}})
	if err != nil || len(m.Pairs) != 2 || m.Ignored != nil {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestOptionalTensorsMayBeMissing(t *testing.T) {
	f := fileOf(t, vec(t, "w", 2))
	want := []Spec{{Name: "w", Shape: []int{2}}, {Name: "head.weight", Shape: []int{3}}}
	got, m, err := Load(f, want, Rules{Optional: []string{"head.*"}})
	if err != nil || len(got) != 1 || !reflect.DeepEqual(m.Kept, []string{"head.weight"}) {
		t.Errorf("%v %+v %v", got, m, err)
	}
	// Present but of another shape is still an error.
	f = fileOf(t, vec(t, "w", 2), vec(t, "head.weight", 4))
	if _, err := Fit(f, want, Rules{Optional: []string{"head.*"}}); err == nil {
		t.Error("a head of another shape was left out")
	}
}

func TestVectorsMayComeAsOneRow(t *testing.T) {
	f := fileOf(t, vec(t, "bn.weight", 1, 3))
	got, _, err := Load(f, []Spec{{Name: "bn.weight", Shape: []int{3}}}, Rules{})
	if err != nil || !reflect.DeepEqual(got["bn.weight"], ramp(3)) {
		t.Errorf("%v, %v", got, err)
	}
	for _, shape := range [][]int{{3, 1}, {1, 1, 3}, {1, 4}, {2, 3}} {
		if _, err := Fit(fileOf(t, vec(t, "bn.weight", shape...)), []Spec{{Name: "bn.weight", Shape: []int{3}}}, Rules{}); err == nil {
			t.Errorf("%v was taken for [3]", shape)
		}
	}
	if _, err := Fit(fileOf(t, vec(t, "w", 3)), []Spec{{Name: "w", Shape: []int{1, 3}}}, Rules{}); err == nil {
		t.Error("[3] was taken for [1 3]")
	}
}

func TestDictionaryOfACheckpointIsFound(t *testing.T) {
	want := []Spec{{Name: "a", Shape: []int{1}}, {Name: "b", Shape: []int{2}}}
	f := fileOf(t, vec(t, "optimizer/state/0/exp_avg", 1), vec(t, "state_dict/a", 1), vec(t, "state_dict/b", 2))
	if m, err := Fit(f, want, Rules{}); err != nil || m.Prefix != "state_dict/" || len(m.Pairs) != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	// Two that fit equally well.
	f = fileOf(t, vec(t, "student/a", 1), vec(t, "student/b", 2), vec(t, "teacher/a", 1), vec(t, "teacher/b", 2))
	if _, err := Fit(f, want, Rules{}); err == nil || !strings.Contains(err.Error(), `["student/" "teacher/"]`) {
		t.Errorf("%v", err)
	}
	if m, err := Fit(f, want, Rules{Prefix: "teacher/"}); err != nil || m.Pairs[0].From.Name != "teacher/a" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := Fit(f, want, Rules{Prefix: "ema/"}); err == nil || !strings.Contains(err.Error(), `["student/" "teacher/"]`) {
		t.Errorf("%v", err)
	}
	// Nothing fits: compared with the one dictionary there is.
	var m *MismatchError
	_, err := Fit(fileOf(t, vec(t, "net/x", 1)), want, Rules{})
	if !errors.As(err, &m) || m.Prefix != "net/" || !reflect.DeepEqual(m.Unexpected, []string{"x"}) {
		t.Errorf("%v", err)
	}
}

func TestPrefixesAreStripped(t *testing.T) {
	want := []Spec{{Name: "a", Shape: []int{1}}}
	f := fileOf(t, vec(t, "teacher/module.backbone.module.a", 1))
	if m, err := Fit(f, want, Rules{Strip: []string{"module.", "backbone."}}); err != nil || m.Prefix != "teacher/" {
		t.Errorf("%+v, %v", m, err)
	}
	_, err := Fit(fileOf(t, vec(t, "module.a", 1), vec(t, "a", 1)), want, Rules{Strip: []string{"module."}})
	if err == nil || !strings.Contains(err.Error(), `both called "a"`) {
		t.Errorf("%v", err)
	}
}

// TestWrappersInAnyOrder gives names as DataParallel, torch.compile, sharded
// training, activation checkpoints and Lightning nest them.
func TestWrappersInAnyOrder(t *testing.T) {
	want := []Spec{{Name: "layer1.0.conv1.weight", Shape: []int{2}}, {Name: "fc.bias", Shape: []int{1}}}
	rules := Rules{Strip: []string{"module.", "model."}, Transparent: []string{"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}}
	for _, c := range []struct{ first, second, prefix string }{
		{"_orig_mod.layer1.0.conv1.weight", "_orig_mod.fc.bias", ""},
		{"_orig_mod.module.layer1.0.conv1.weight", "_orig_mod.module.fc.bias", ""},
		{"module._orig_mod.layer1.0.conv1.weight", "module._orig_mod.fc.bias", ""},
		{"state_dict/model._orig_mod.module.layer1.0.conv1.weight", "state_dict/model._orig_mod.module.fc.bias", "state_dict/"},
		{"layer1.0._checkpoint_wrapped_module.conv1.weight", "fc.bias", ""},
		{"_fsdp_wrapped_module.layer1._fsdp_wrapped_module.0._checkpoint_wrapped_module.conv1.weight", "_fsdp_wrapped_module.fc.bias", ""},
		{"ema_model.module.layer1.0.conv1.weight", "ema_model.module.fc.bias", "ema_model."},
		{"module.encoder_q._orig_mod.layer1.0.conv1.weight", "module.encoder_q._orig_mod.fc.bias", "module.encoder_q."},
		{"ema/net.layer1.0.conv1.weight", "ema/net.fc.bias", "ema/net."},
	} {
		m, err := Fit(fileOf(t, vec(t, c.first, 2), vec(t, c.second, 1)), want, rules)
		if err != nil || m.Prefix != c.prefix || m.Pairs[0].From.Name != c.first || m.Pairs[1].From.Name != c.second {
			t.Errorf("%s: %+v, %v", c.first, m, err)
		}
	}
}

func TestAPrefixThatOnlyOneNetworkHasIsTaken(t *testing.T) {
	want := []Spec{{Name: "a", Shape: []int{1}}, {Name: "b", Shape: []int{2}}}
	rules := Rules{Strip: []string{"module.", "model."}, Ignore: []string{"fc.*"}}
	// What is left over beside the network is ignored, and named as in the file.
	m, err := Fit(fileOf(t, vec(t, "module.encoder_q.a", 1), vec(t, "module.encoder_q.b", 2), vec(t, "module.encoder_q.fc.0", 3), vec(t, "module.queue", 4)), want, rules)
	if err != nil || m.Prefix != "module.encoder_q." || !reflect.DeepEqual(m.Ignored, []string{"module.queue", "fc.0"}) {
		t.Errorf("%+v, %v", m, err)
	}
	// A criterion beside the network of Lightning, although model. would be stripped.
	m, err = Fit(fileOf(t, vec(t, "model.a", 1), vec(t, "model.b", 2), vec(t, "criterion.proxies", 3)), want, rules)
	if err != nil || m.Prefix != "model." || !reflect.DeepEqual(m.Ignored, []string{"criterion.proxies"}) {
		t.Errorf("%+v, %v", m, err)
	}
	// The prefix that is named is that of the network and not of a part of it.
	m, err = Fit(fileOf(t, vec(t, "net.a", 1), vec(t, "net.b", 2), vec(t, "net.aux.a", 1)), want, Rules{Ignore: []string{"aux.*"}})
	if err != nil || m.Prefix != "net." || m.Pairs[0].From.Name != "net.a" {
		t.Errorf("%+v, %v", m, err)
	}
	// A name too many behind the prefix is still an error.
	var bad *MismatchError
	_, err = Fit(fileOf(t, vec(t, "net.a", 1), vec(t, "net.b", 2), vec(t, "net.c", 1)), want, rules)
	if !errors.As(err, &bad) || bad.Prefix != "net." || !reflect.DeepEqual(bad.Unexpected, []string{"c"}) {
		t.Errorf("%v", err)
	}
}

// TestTheHintIsThePrefixThatWorks takes every prefix that an error names.
func TestTheHintIsThePrefixThatWorks(t *testing.T) {
	want := []Spec{{Name: "a", Shape: []int{1}}, {Name: "b", Shape: []int{2}}}
	rules := Rules{Strip: []string{"module."}, Transparent: []string{"_orig_mod"}}
	twice := fileOf(t, vec(t, "s/module._orig_mod.encoder_q.a", 1), vec(t, "s/module._orig_mod.encoder_q.b", 2),
		vec(t, "s/module._orig_mod.encoder_k.a", 1), vec(t, "s/module._orig_mod.encoder_k.b", 2), vec(t, "s/module.queue", 3))
	var several *AmbiguousError
	if _, err := Fit(twice, want, rules); !errors.As(err, &several) || !reflect.DeepEqual(several.Prefixes, []string{"s/module.encoder_k.", "s/module.encoder_q."}) {
		t.Fatalf("%v", err)
	}
	for _, prefix := range append(several.Prefixes, "encoder_q.", "encoder_q", "module.encoder_k.", "_orig_mod.encoder_k.") {
		rules.Prefix = prefix
		m, err := Fit(twice, want, rules)
		if err != nil || len(m.Pairs) != 2 {
			t.Errorf("%s: %v", prefix, err)
			continue
		}
		if kept := m.Pairs[0].From.Name; !strings.Contains(kept, strings.TrimSuffix(prefix[strings.LastIndex(prefix, "encoder"):], ".")) {
			t.Errorf("%s: %s was taken", prefix, kept)
		}
	}
	rules.Prefix = ""
	glued := fileOf(t, vec(t, "s/net_a", 1), vec(t, "s/net_b", 2))
	var bad *MismatchError
	if _, err := Fit(glued, want, rules); !errors.As(err, &bad) || bad.Behind != "s/net_" || !strings.Contains(err.Error(), `behind the prefix "s/net_"`) {
		t.Fatalf("%v", err)
	}
	rules.Prefix = bad.Behind
	if m, err := Fit(glued, want, rules); err != nil || len(m.Pairs) != 2 {
		t.Errorf("%v", err)
	}
	// One name of several behind a prefix is no hint.
	rules.Prefix = ""
	if _, err := Fit(fileOf(t, vec(t, "a", 1), vec(t, "x_b", 2)), want, rules); !errors.As(err, &bad) || bad.Behind != "" {
		t.Errorf("%+v", bad)
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		name, pattern string
		want          bool
	}{
		{"fc", "fc", true}, {"fc.weight", "fc", false}, {"fc.weight", "fc.*", true}, {"fc2.weight", "fc.*", false},
		{"a.num_batches_tracked", BatchCounts, true}, {"num_batches_tracked", BatchCounts, true}, {"a.aux.b", "*.aux.*", true}, {"aux", "*.aux.*", false},
		{"x", "*", true}, {"x", "", false},
	} {
		if got := matchPattern(c.name, c.pattern); got != c.want {
			t.Errorf("%q matches %q: %v", c.name, c.pattern, got)
		}
	}
}

func TestUnknownTensorSuggestsTheNearest(t *testing.T) {
	f := fileOf(t, vec(t, "conv1.weight", 2))
	if _, err := f.Float32("conv1.wight"); err == nil || !strings.Contains(err.Error(), `did you mean "conv1.weight"?`) {
		t.Error(err)
	}
}

func TestReadIntoParameters(t *testing.T) {
	f := fileOf(t, vec(t, "a", 2), vec(t, "b", 1, 3))
	m, err := Fit(f, []Spec{{Name: "b", Shape: []int{3}}, {Name: "a", Shape: []int{2}}}, Rules{})
	if err != nil {
		t.Fatal(err)
	}
	params := map[string][]float32{"a": make([]float32, 2), "b": make([]float32, 3)}
	if err := m.Read(func(s Spec) []float32 { return params[s.Name] }); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(params, map[string][]float32{"a": ramp(2), "b": ramp(3)}) {
		t.Error(params)
	}
	if err := m.Read(func(Spec) []float32 { return nil }); err == nil {
		t.Error("read into too little room")
	}
}
