package data

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

func TestCheckSeesWhatAPersonSees(t *testing.T) {
	good := func() files { return classes(t, []string{"a", "b", "c", "d"}, 3) }
	gray := func(seed uint64) []byte {
		m := picture(8, 8, seed)
		for i := 0; i < len(m.Pix); i += 3 {
			m.Pix[i+1], m.Pix[i+2] = m.Pix[i], m.Pix[i]
		}
		return imagetest.EncodePNG(t, m)
	}
	for name, c := range map[string]struct {
		plant func(files)
		want  []string // parts of the only warning
	}{
		"nothing":    {func(files) {}, nil},
		"ten times":  {func(f files) { f["a/large.png"] = imagetest.EncodePNG(t, picture(90, 80, 7)) }, []string{"from 8 pixels (", "to 80 (", "a/large.png): small ones are enlarged"}},
		"nine times": {func(f files) { f["a/large.png"] = imagetest.EncodePNG(t, picture(200, 79, 7)) }, nil},
		"gray":       {func(f files) { f["a/gray.png"] = gray(7) }, []string{"1 of 13 images are gray and the others colored, the first is ", "a/gray.png: a metric may learn color instead of what they show"}},
		"gray class": {func(f files) { f["e/1.png"], f["e/2.png"] = gray(7), gray(8) }, []string{"2 of 14 images are gray", "the more where a class is gray throughout (1 class)"}},
		"all gray": {func(f files) {
			for k := range f {
				delete(f, k)
			}
			for i, k := range []string{"a/1.png", "a/2.png", "b/1.png", "b/2.png", "c/1.png", "c/2.png", "d/1.png", "d/2.png"} {
				f[k] = gray(uint64(i))
			}
		}, nil},
		"capitals": {func(f files) {
			f["B/1.png"], f["B/2.png"] = imagetest.EncodePNG(t, picture(8, 8, 7)), imagetest.EncodePNG(t, picture(8, 8, 8))
		},
			[]string{"1 class name differs only in capital letters or in how accents are written: B and b; if they are one class, right answers count as wrong"}},
		"accents": {func(f files) {
			for i, k := range []string{"\u00e9/1.png", "\u00e9/2.png", "e\u0301/1.png", "e\u0301/2.png"} {
				f[k] = imagetest.EncodePNG(t, picture(8, 8, uint64(70+i)))
			}
		}, []string{"1 class name differs only in capital letters or in how accents are written: e\u0301 and \u00e9;"}},
		"files": {func(f files) {
			f["a/x.png"], f["a/X.PNG"] = imagetest.EncodePNG(t, picture(8, 8, 7)), imagetest.EncodePNG(t, picture(8, 8, 8))
		},
			[]string{"1 image path differs only in capital letters", "a/X.PNG and a/x.png; on Windows and macOS one image replaces the other"}},
	} {
		f := good()
		c.plant(f)
		r, err := Check(t.Context(), "folder:"+f.zip(t), CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Problems) > 0 || len(r.Warnings) != min(len(c.want), 1) {
			t.Errorf("%s: problems %q, warnings %q", name, r.Problems, r.Warnings)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(r.Warnings[0], want) {
				t.Errorf("%s: %q, want %q", name, r.Warnings[0], want)
			}
		}
	}
}

func TestCheckSaysWhatNumbersAsLabelsMean(t *testing.T) {
	f := classes(t, []string{"a", "b", "c"}, 2)
	for name, c := range map[string]struct {
		labels []string
		want   []string
	}{
		"from 1": {[]string{"1", "2", "3"}, []string{"the labels are the numbers from 1 to 3: a class has no other name in reports, and a list of names that counts from 0 names the wrong ones"}},
		"from 0": {[]string{"0", "1", "2"}, nil},
		"words":  {[]string{"1", "2", "x"}, nil},
		"gaps":   {[]string{"1", "2", "5"}, nil},
	} {
		table := "path,label\n"
		for i, class := range []string{"a", "b", "c"} {
			table += fmt.Sprintf("%s/aa.png,%s\n%s/ab.png,%[2]s\n", class, c.labels[i], class)
		}
		f["table.csv"] = []byte(table)
		r, err := Check(t.Context(), "csv:"+filepath.Join(f.folder(t), "table.csv"), CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.Warnings, c.want) {
			t.Errorf("%s: %q", name, r.Warnings)
		}
	}
}

func TestCheckCallsJoinedPartsAProblem(t *testing.T) {
	f := images(t, "train/a/1.png", "train/b/1.png", "val/a/2.png", "val/b/2.png", "train/c/1.png", "train/d/1.png", "val/c/2.png", "val/d/2.png")
	f["val/b/copy.png"] = f["train/b/1.png"]
	r, err := Check(t.Context(), "folder:"+f.folder(t), CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.OK() || r.Classes != 4 || !r.SharedClasses || len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0], "parts train (4 images), val (5 images) hold the same classes: joined") {
		t.Errorf("%d classes, problems %q", r.Classes, r.Problems)
	}
	if len(r.Duplicates) != 1 {
		t.Errorf("duplicates %+v", r.Duplicates)
	}
}

func TestCheckFindsBoxesThatReachBeyondTheirPictures(t *testing.T) {
	f := classes(t, []string{"a", "b", "c", "d"}, 2) // of 8 x 8 pixels
	table := "path,label,x1,y1,x2,y2\n"
	for _, class := range []string{"a", "b", "c", "d"} {
		table += class + "/aa.png," + class + ",0,0,8,8\n" + class + "/ab.png," + class + ",,,,\n"
	}
	open := func(table string) string {
		f["t.csv"] = []byte(table)
		return "csv:" + filepath.Join(f.folder(t), "t.csv")
	}
	table = strings.Replace(table, "b/aa.png,b,0,0,8,8", "b/aa.png,b,2,3,9,9", 1) // rounded
	r, err := Check(t.Context(), open(table), CheckOptions{})
	if err != nil || !r.OK() || len(r.Beyond) > 0 {
		t.Errorf("boxes inside: %v, %q, %q", err, r.Problems, r.Beyond)
	}
	table = strings.Replace(table, "c/aa.png,c,0,0,8,8", "c/aa.png,c,2,3,40,50", 1)
	if r, err = Check(t.Context(), open(table), CheckOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(r.Beyond) != 1 || r.Beyond[0].Reason != "box x1 2, y1 3, x2 40, y2 50 (line 6 of the table), the picture has 8 x 8 pixels" ||
		len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0], "1 of 4 boxes reach over the edges of pictures, and only what lies inside is used; the first is ") {
		t.Errorf("%q, %q", r.Problems, r.Beyond)
	}
	table = strings.Replace(table, "d/aa.png,d,0,0,8,8", "d/aa.png,d,20,30,40,50", 1)
	if r, err = Check(t.Context(), open(table), CheckOptions{}); err != nil || len(r.Bad) != 1 || r.Bad[0].Reason != "box x1 20, y1 30, x2 40, y2 50 (line 8 of the table) lies outside the 8 x 8 pixels" {
		t.Errorf("%v, %q", err, r.Bad)
	}
	for box, want := range map[string]string{
		"0.1,0.2,0.5,1.0": "line 2: box 0.1, 0.2, 0.5, 1.0: shares of the picture's width and height, want pixels: multiply x1 and x2 by its width, y1 and y2 by its height",
		"0,0,1,1":         "line 2: box 0, 0, 1, 1: shares of the picture's width",
		"5,5,3,3":         "line 2: box x1 5, y1 5, x2 3, y2 3: want all four corners, with x1 < x2 and y1 < y2 (not a width and a height)",
	} {
		if _, err := Check(t.Context(), open("path,label,x1,y1,x2,y2\na/aa.png,a,"+box+"\n"), CheckOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", box, err)
		}
	}
}

func TestCheckSaysWhatTrainingRefuses(t *testing.T) {
	const refused = ": training refuses this set; choose other classes for training"
	for name, c := range map[string]struct {
		count   []int
		split   SplitSpec
		problem string
	}{
		"single test images":     {[]int{3, 3, 1, 1}, FirstHalf(), "each of the 2 test classes has one image, so that none has another of its class to be found" + refused + ", or give more images a class"},
		"one test class":         {[]int{2, 2, 2, 2}, SplitSpec{Count: 3}, `1 class ("d") is left to be tested on, among whose images every neighbor is right` + refused + ", or give more images a class"},
		"one training class":     {[]int{2, 2, 2, 2}, SplitSpec{Count: 1}, "1 class is left to train on, at least 2 are needed" + refused},
		"single training images": {[]int{1, 1, 2, 2}, FirstHalf(), ""},
	} {
		r, err := Check(t.Context(), "folder:"+classes(t, []string{"a", "b", "c", "d"}, c.count...).folder(t), CheckOptions{Split: &c.split})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(r.Problems, "|") != c.problem {
			t.Errorf("%s: %q", name, r.Problems)
		}
	}
}
