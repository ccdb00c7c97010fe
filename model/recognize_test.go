package model

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/weights"
)

// sparse writes a safetensors file of zeros that take no room on the disk.
func sparse(t *testing.T, file string, tensors []weights.Spec) string {
	t.Helper()
	entries, data := map[string]any{}, int64(0)
	for _, s := range tensors {
		size := int64(4)
		for _, d := range s.Shape {
			size *= int64(d)
		}
		entries[s.Name] = map[string]any{"dtype": "F32", "shape": s.Shape, "data_offsets": []int64{data, data + size}}
		data += size
	}
	text, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	header := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	name := filepath.Join(t.TempDir(), file)
	if err := errors.Join(os.WriteFile(name, header, 0o644), os.Truncate(name, int64(len(header))+data)); err != nil {
		t.Fatal(err)
	}
	return name
}

// networks says which network the names of a public file are of, by that of the case.
func networks(t *testing.T, name string) string {
	t.Helper()
	sizes := map[string]string{"tiny": "t", "small": "s", "base": "b", "large": "l", "s": "s", "b": "b", "l": "l"}
	for _, n := range []struct{ pattern, network string }{
		{`^(resnet\d+|googlenet)$`, "$1"}, {`^bn_inception$`, "bninception"},
		{`^convnext_(tiny|small|base)_.*`, "convnext$1"}, {`^efficientnet_lite(\d)$`, "efficientnetlite$1"},
		{`^timm_vit_(\w+)_patch14_dinov2$`, "dinov2#$1#14"}, {`^timm_vit_(\w+)_patch14_reg4_dinov2$`, "dinov2#$1#14reg4"},
		{`^hf_dinov2_with_registers_(\w+)$`, "dinov2#$1#14reg4"}, {`^hf_dinov2_(\w+)$`, "dinov2#$1#14"},
		{`^dinov2_vit(\w)14(\w*)$`, "dinov2#$1#14$2"}, {`^dino_vit(\w)(\d+)$`, "dino#$1#$2"},
		{`^(?:hf_)?clip_vit_(b)(?:ase)?_?(?:patch)?(\d+)$`, "clip#$1#$2"}, {`^timm_vit_(\w+)_patch(\d+)_clip_224$`, "clip#$1#$2"},
		{`^tv_vit_(\w)_(\d+)$`, "vit#$1#$2"}, {`^(?:timm_|hf_)?vit_(\w+?)_patch(\d+)_224(?:_in21k)?$`, "vit#$1#$2"},
	} {
		re := regexp.MustCompile(n.pattern)
		if !re.MatchString(name) {
			continue
		}
		to := strings.Replace(re.ReplaceAllString(name, n.network), "_reg4", "reg4", 1)
		if family, rest, ok := strings.Cut(to, "#"); ok {
			size, patch, _ := strings.Cut(rest, "#")
			to = family + sizes[size] + patch
		}
		return to
	}
	t.Fatalf("which network has the names of %s?", name)
	return ""
}

// Every public file is recognized by its names and shapes, with what its network is fed.
func TestPublicFilesAreRecognized(t *testing.T) {
	golden.WalkFS(t, os.DirFS("../backbone/testdata/golden"), "backbones", func(t *testing.T, c *golden.Case) {
		name, ok := strings.CutPrefix(c.Name, "names_")
		if !ok {
			return
		}
		var rows [][]json.RawMessage
		if err := json.Unmarshal(c.Raw["names"], &rows); err != nil {
			t.Fatal(err)
		}
		var tensors []weights.Spec
		for _, row := range rows {
			s := weights.Spec{Shape: []int{}}
			if err := errors.Join(json.Unmarshal(row[0], &s.Name), json.Unmarshal(row[1], &s.Shape)); err != nil {
				t.Fatal(err)
			}
			tensors = append(tensors, s)
		}
		want := networks(t, name)
		if _, err := backbone.New(want); err != nil {
			t.Skip(err)
		}
		r, err := Recognize(sparse(t, "weights.safetensors", tensors), "")
		if err != nil {
			t.Fatal(err)
		}
		if networkOf(r.Backbone) != want && !slices.Contains(r.Same, want) {
			t.Errorf("recognized as %s, want %s", r, want)
		}
		var files []string
		if err := as(c.Params["public_files"], &files); err != nil {
			t.Fatal(err)
		}
		for _, public := range files {
			file, note, _ := strings.Cut(path.Base(public), " ")
			if r, err = Recognize(sparse(t, file, tensors), ""); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(note, "own layout") {
				continue
			}
			now := want
			if strings.HasPrefix(want, "clip") && strings.Contains(note, "GELU") && !strings.Contains(note, "QuickGELU") {
				now = "open" + want
			}
			if networkOf(r.Backbone) != now {
				t.Errorf("%s is recognized as %s, want %s", file, r, now)
			}
			if !strings.Contains(note, "resize 232") {
				checkPictures(t, c, file, r.Input)
			} else if r.Input.Resize != 232 {
				t.Errorf("%s: shorter side %d, want 232", file, r.Input.Resize)
			}
		}
	})
}

// as brings a parameter of a case to a type.
func as(v, to any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// checkPictures compares what a network is fed with the golden case.
func checkPictures(t *testing.T, c *golden.Case, file string, in backbone.Preprocessing) {
	t.Helper()
	var want struct {
		Interpolation         string
		Mean, Std             [3]float64
		Range                 float64
		Resize, Size, Default int
		Stretch               bool
	}
	if err := as(c.Params["preprocessing"], &want); err != nil {
		t.Fatal(err)
	}
	switch { // where timm departs from the authors
	case want.Size == 518:
		want.Size, want.Resize = 224, 256
	case c.Name == "names_timm_vit_base_patch32_clip_224":
		want.Resize = 224
	}
	resize := in.Resize
	if resize == 0 {
		resize = in.Size
	}
	if in.Size != want.Size || resize != want.Resize || in.Stretch != want.Stretch || in.Bicubic != (want.Interpolation == "bicubic") ||
		in.Range != want.Range || in.Mean != want.Mean || in.Std != want.Std {
		t.Errorf("%s: pictures %+v, want %+v", file, in, want)
	}
}

func TestAFileOfNoNetworkGetsTheNearest(t *testing.T) {
	m, err := newCandidate("resnet18")
	if err != nil {
		t.Fatal(err)
	}
	var tensors []weights.Spec
	for _, p := range m.model.Params.All() {
		tensors = append(tensors, weights.Spec{Name: p.Name, Shape: p.Value.Shape()})
	}
	file := sparse(t, "a.safetensors", append(tensors[1:], weights.Spec{Name: "extra.weight", Shape: []int{2}}))
	_, err = Recognize(file, "")
	var none *NoNetworkError
	if !errors.As(err, &none) || none.Nearest != "resnet18" || !strings.Contains(err.Error(), "1 missing (conv1.weight), 1 that the network does not have (extra.weight)") {
		t.Errorf("%v", err)
	}
	_, err = Recognize(sparse(t, "b.safetensors", []weights.Spec{{Name: "a", Shape: []int{3}}}), "")
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "none has any of its tensors") {
		t.Errorf("%v", err)
	}
}
