package run

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// bomb is a YAML text of n anchors, each of which holds the one before twice.
func bomb(n int, begin, twice, end string) string {
	var b strings.Builder
	b.WriteString(begin)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, twice, i, i-1, i-1)
	}
	fmt.Fprintf(&b, end, n)
	return b.String()
}

func TestHostileYAMLIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ yaml, want string }{
		"aliases that double":   {bomb(40, "loss: {terms: [&a0 {name: sec}", ", &a%d [*a%d, *a%d]", "]}\nmodel: *a%d"), "there are more than 200000 values"},
		"merges that double":    {bomb(40, "loss: {terms: [&a0 {name: sec}", ", &a%d {<<: *a%d, params: *a%d}", "]}\ndata: {<<: *a%d}"), "there are more than 200000 values"},
		"alias in itself":       {"data: &a {<<: *a}", "more than 100 levels"},
		"list in itself":        {"schedule: {milestones: &a [*a]}", "more than 100 levels"},
		"deep nesting":          {"loss: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "more than 100 levels"},
		"deep groups":           {strings.Repeat("{a: ", 200) + "1" + strings.Repeat("}", 200), "more than 100 levels"},
		"a key twice":           {"epochs: 3\nseed: 1\nepochs: 4", "run.yaml:3: epochs is given twice (also at run.yaml:1)"},
		"a group twice":         {"data: {max_bad: 1}\ndata: {max_bad: 1}", "run.yaml:2: data is given twice"},
		"a key that is a list":  {"? [a, b]\n: 1", "run.yaml:1: a key is a list or a group"},
		"a key twice in a term": {"loss: {terms: [{name: sec, name: vnorm}]}", "name is given twice"},
		"a large text":          {"# " + strings.Repeat("x", maxYAML), "a file of settings has at most 1048576"},
		"a huge number":         {"epochs: 99999999999999999999", "99999999999999999999 is too large for a whole number"},
		"a huge exponent":       {"optimizer: {rate: 1e99999}", "1e99999 is too large for a number"},
	} {
		s := &Settings{}
		err := s.AddYAML("run.yaml", []byte(c.yaml))
		if err == nil {
			_, err = s.Config()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
}

func TestAliasesStandForWhatTheyName(t *testing.T) {
	c := configOf(t, `
data: {spec: glyphs}
optimizer: &o {rate: &r 0.5, decay: 0.25}
epochs: &n 7
warmup_epochs: 2
classes_per_batch: *n
loss: {terms: [&t {name: sec, params: {weight: *r}}]}
model: {dim: 32}
schedule: {name: multistep, gamma: *r, milestones: [2, *n]}
`)
	if c.ClassesPerBatch != 7 || c.Loss.Terms[0].Params["weight"] != "0.5" || c.Schedule.Gamma != .5 || c.Schedule.Milestones[1] != 7 || c.Optimizer.Decay != .25 {
		t.Errorf("%+v", c)
	}
}

// FuzzSettings lets a text stand for a configuration file and for a file of presets.
// What is taken must be within all bounds.
func FuzzSettings(f *testing.F) {
	for _, text := range []string{
		"data: {spec: glyphs}\nepochs: 3", "preset: brm-cub200-npairs", "loss: {name: triplet, params: {margin: 0.5D0}, terms: [{name: sec, params: {weight: 1}}]}",
		"data: &a {max_bad: 1}\nrun: {<<: *a}", "schedule: {name: multistep, milestones: [1, 2], gamma: 0.1}", "epochs: 9223372036854775807", "optimizer: {rate: .nan}",
		`{"model": {"metric": "brm:tanh,p=1", "input": {"size": 64, "mean": [0, 0, 0]}}}`, "classes_per_batch: 65536\nimages_per_class: 65536",
		bomb(5, "loss: {terms: [&a0 {name: sec}", ", &a%d [*a%d, *a%d]", "]}\nmodel: *a%d"),
	} {
		f.Add(text)
	}
	names, err := presetFiles.ReadDir("presets")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range names {
		text, err := presetFiles.ReadFile("presets/" + e.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parsePresets("x.yaml", []byte(text)); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
		s := &Settings{}
		if err := s.AddYAML("x.yaml", []byte(text)); err != nil {
			return
		}
		c, err := s.Config()
		if err != nil {
			return
		}
		if c.Data.Spec == "" {
			c.Data.Spec = "glyphs"
		}
		if err := errors.Join(c.Validate(), c.checkBounds()); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if c.Epochs < 1 || c.Epochs > maxEpochs || c.Batch() < 1 || c.Batch() > MaxBatch {
			t.Fatalf("%q: %+v", text, c)
		}
	})
}
