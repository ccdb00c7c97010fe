package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data"
)

func TestReportComparesWithThePublishedCounts(t *testing.T) {
	published := data.Published{TrainImages: 5864, TestImages: 5924, TrainClasses: 100, TestClasses: 100}
	found := published
	r := &data.Report{
		Set: "cub200:birds", Images: 11788, Classes: 200, Split: "published", Published: &published, Found: &found,
		TrainImages: 5864, TrainClasses: 100, TestImages: 5924, TestClasses: 100,
		Histogram: []data.ClassCount{{Class: "a", Images: 60}, {Class: "b", Images: 1}, {Class: "c", Images: 2}, {Class: "d", Images: 3}, {Class: "e", Images: 40}},
	}
	text := printed(t, r)
	for _, want := range []string{
		"published are 5864 training images of 100 classes and 5924 test images of 100; the same is here",
		"split (published): 5864 images of 100 classes for training, 5924 of 100 others for testing",
		"images a class: 1 (b) to 60 (a), median 3, mean 21.2",
		"  1              1 class\n  2 to 3         2 classes\n  32 to 63       2 classes\n",
		"nothing is wrong",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	found.TestImages = 3043
	r.Problems = []string{"this is not the published set"}
	r.SharedClasses = true
	r.Duplicates = []data.Duplicate{{Paths: []string{"x.jpg", "y.jpg"}, Across: "splits"}}
	r.Histogram = r.Histogram[:1]
	text = printed(t, r)
	for _, want := range []string{
		"here are 5864 training images of 100 classes and 3043 test images of 100\n",
		"divides the images of every class", "every class has 60 images", "same picture: in training and test: x.jpg, y.jpg", "problem: this is not",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "nothing is wrong") {
		t.Error("it says that nothing is wrong")
	}
}

func printed(t *testing.T, r *data.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := printReport(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDataListFitsATerminal(t *testing.T) {
	_, out, _ := vernier(t, "data", "list")
	for line := range strings.SplitSeq(out, "\n") {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	for _, k := range data.List() {
		if !strings.Contains(out, k.Usage+"\n") {
			t.Errorf("%s is not listed", k.Usage)
		}
	}
}
