package run

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/model"
)

// zerosOf writes a weight file of a network whose numbers are zeros and take no room.
func zerosOf(t *testing.T, net, file string) string {
	t.Helper()
	spec, err := model.DefaultSpec(net)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(layers.Outline(), spec, 0)
	if err != nil {
		t.Fatal(err)
	}
	entries, data := map[string]any{}, 0
	for _, p := range m.Params.All() {
		if p.Group == layers.Backbone {
			n := 4 * p.Value.Size()
			entries[p.Name] = map[string]any{"dtype": "F32", "shape": p.Value.Shape(), "data_offsets": []int{data, data + n}}
			data += n
		}
	}
	text, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	header := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	path := filepath.Join(t.TempDir(), file)
	if err := errors.Join(os.WriteFile(path, header, 0o644), os.Truncate(path, int64(len(header)+data))); err != nil {
		t.Fatal(err)
	}
	return path
}

// Without a backbone the weights choose it, with the pictures that go with the file.
func TestWeightsChooseTheNetwork(t *testing.T) {
	file := zerosOf(t, "resnet50", "resnet50-11ad3fa6.pth")
	s := settingsOf(t, Setting{Path: "data.spec", Value: "glyphs"}, Setting{Path: "weights.path", Value: file})
	c, err := s.Config()
	if err != nil {
		t.Fatal(err)
	}
	if c.Model.Backbone != "resnet50" || c.Model.Input.Size != 224 || c.Model.Input.Resize != 232 {
		t.Errorf("%s, pictures %+v", c.Model.Backbone, c.Model.Input)
	}
	if says := s.ChosenByWeights(c); !strings.Contains(says, "resnet50; pictures of 224 pixels cut out of a shorter side of 232, pooling avg+max") {
		t.Errorf("%q", says)
	}
	named := settingsOf(t, Setting{Path: "data.spec", Value: "glyphs"}, Setting{Path: "weights.path", Value: file}, Setting{Path: "model.backbone", Value: "resnet18"})
	if c, err = named.Config(); err != nil || c.Model.Backbone != "resnet18" || named.ChosenByWeights(c) != "" {
		t.Errorf("%s, %v, %q", c.Model.Backbone, err, named.ChosenByWeights(c))
	}
	other := filepath.Join(t.TempDir(), "a.safetensors")
	if err := os.WriteFile(other, append([]byte{57, 0, 0, 0, 0, 0, 0, 0}, `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}   0000`...), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = settingsOf(t, Setting{Path: "data.spec", Value: "glyphs"}, Setting{Path: "weights.path", Value: other}).Config()
	if err == nil || !strings.Contains(err.Error(), "fits no network") {
		t.Errorf("%v", err)
	}
}

func settingsOf(t *testing.T, list ...Setting) *Settings {
	t.Helper()
	s := &Settings{}
	if err := s.Add(list...); err != nil {
		t.Fatal(err)
	}
	return s
}
