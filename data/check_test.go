package data

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

func TestCheckFindsEachPlantedFault(t *testing.T) {
	good := classes(t, []string{"a", "b c", "ç", "d"}, 3)
	big := imagetest.PNGOfZeros(t, 20000, 20000)
	for name, c := range map[string]struct {
		plant   func(files)
		problem string // part of a problem, or
		warning string // part of a warning
	}{
		"nothing":           {func(files) {}, "", ""},
		"truncated JPEG":    {func(f files) { f["a/x.jpg"] = imagetest.EncodeJPEG(t, picture(50, 50, 1))[:900] }, "a/x.jpg: damaged JPEG: the file ends too early", ""},
		"text as JPEG":      {func(f files) { f["ç/x.jpg"] = []byte("hello") }, "ç/x.jpg: not an image", ""},
		"zero bytes":        {func(f files) { f["b c/x y.png"] = nil }, "b c/x y.png: empty file", ""},
		"huge image":        {func(f files) { f["d/x.png"] = big }, "d/x.png: too large: 20000 x 20000", ""},
		"same in class":     {func(f files) { f["a/copy.png"] = f["a/aa.png"] }, "", "more than once in the class"},
		"same in 2 classes": {func(f files) { f["a/copy.png"] = f["b c/aa.png"] }, "", "in more than one class"},
		"same in 2 splits":  {func(f files) { f["a/copy.png"] = f["d/aa.png"] }, "both in the training and in the test part", ""},
		"same pixels":       {func(f files) { f["a/copy.bmp"] = imagetest.EncodeBMP(t, picture(8, 8, 3000)) }, "both in the training and in the test part", ""},
		"one pixel":         {func(f files) { f["a/x.png"] = imagetest.EncodePNG(t, picture(1, 1, 9)) }, "", ""},
		"single image":      {func(f files) { f["e/x.png"] = imagetest.EncodePNG(t, picture(8, 8, 77777)) }, "", "1 class with a single image (e)"},
		"other file":        {func(f files) { f["a/list.csv"] = []byte("x") }, "", "1 .csv"},
	} {
		for _, archive := range []bool{false, true} {
			f := maps.Clone(good)
			c.plant(f)
			root := ""
			if archive {
				root = f.zip(t)
			} else {
				root = f.folder(t)
			}
			r, err := Check(t.Context(), "folder:"+root, CheckOptions{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, x := range []struct {
				what string
				got  []string
				want string
			}{{"problem", r.Problems, c.problem}, {"warning", r.Warnings, c.warning}} {
				if x.want == "" && len(x.got) > 0 {
					t.Errorf("%s: %s %q, want none", name, x.what, x.got)
				} else if x.want != "" && (len(x.got) != 1 || !strings.Contains(filepath.ToSlash(x.got[0]), x.want)) {
					t.Errorf("%s: %s %q, want %q", name, x.what, x.got, x.want)
				}
			}
			if r.OK() != (c.problem == "") {
				t.Errorf("%s: OK() = %v", name, r.OK())
			}
		}
	}
}

func TestCheckListsAllBadFilesAndDuplicates(t *testing.T) {
	f := classes(t, []string{"a", "b", "c", "d"}, 2)
	f["a/1.jpg"], f["c/2.jpg"], f["c/10.jpg"] = nil, []byte("x"), []byte("\xff\xd8\xff\xe0")
	f["b/copy.png"], f["d/copy.png"] = f["a/aa.png"], f["a/aa.png"]
	f["c/copy.png"] = f["c/ab.png"]
	var done atomic.Int64
	r, err := Check(t.Context(), "folder:"+f.folder(t), CheckOptions{Workers: 3, Progress: func(n, total int) {
		if total != 14 {
			t.Errorf("total %d", total)
		}
		done.Add(1)
	}})
	if err != nil {
		t.Fatal(err)
	}
	var bad []string
	for _, b := range r.Bad {
		bad = append(bad, filepath.Base(b.Path))
	}
	if !slices.Equal(bad, []string{"1.jpg", "2.jpg", "10.jpg"}) {
		t.Errorf("bad %v", r.Bad)
	}
	if len(r.Duplicates) != 2 || r.Duplicates[0].Across != "splits" || !slices.Equal(r.Duplicates[0].Classes, []string{"a", "b", "d"}) ||
		r.Duplicates[1].Across != "class" || len(r.Duplicates[1].Paths) != 2 {
		t.Errorf("duplicates %+v", r.Duplicates)
	}
	want := []ClassCount{{"a", "train", 3}, {"b", "train", 3}, {"c", "test", 5}, {"d", "test", 3}}
	if !slices.Equal(r.Histogram, want) || r.TrainImages != 6 || r.TestImages != 8 || r.TrainClasses != 2 || r.TestClasses != 2 {
		t.Errorf("%+v", r)
	}
	if r.MinWidth != 8 || r.MaxHeight != 8 || done.Load() != 14 {
		t.Errorf("sizes %d..%d, progress called %d times", r.MinWidth, r.MaxHeight, done.Load())
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(text, &back); err != nil || back.Images != 14 || len(back.Bad) != 3 {
		t.Errorf("JSON %s: %v", text, err)
	}
}

func TestCheckOfOneClassOrUnknownSplitSaysSo(t *testing.T) {
	r, err := Check(t.Context(), "folder:"+classes(t, []string{"a"}, 2).folder(t), CheckOptions{})
	if err != nil || r.OK() || !strings.Contains(r.Problems[0], "at least 2") {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = Check(t.Context(), "folder:"+classes(t, []string{"a", "b"}, 2).folder(t), CheckOptions{Split: &SplitSpec{Count: 2}})
	if err != nil || r.OK() || !strings.Contains(r.Problems[0], "must be 1 to 1") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCheckStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Check(ctx, "glyphs", CheckOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestGlyphsHaveNoFaults(t *testing.T) {
	r, err := Check(t.Context(), "glyphs", CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK() || len(r.Warnings) != 0 || r.TrainClasses != 333 || r.TestClasses != 333 {
		t.Errorf("problems %q, warnings %q, %d + %d classes", r.Problems, r.Warnings, r.TrainClasses, r.TestClasses)
	}
}
