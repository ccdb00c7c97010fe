package run

import (
	"strings"
	"testing"
)

func TestTrainingWithoutLabelsHasItsOwnDefaults(t *testing.T) {
	c := configOf(t, "data: {spec: 'folder:x', labels: none}")
	if c.Data.Views != 2 || c.ImagesPerClass != 2 || c.ClassesPerBatch != 64 || c.Data.Augment != "simclr" {
		t.Errorf("%d views, batches of %d times %d, augmentation %s", c.Data.Views, c.ClassesPerBatch, c.ImagesPerClass, c.Data.Augment)
	}
	c = configOf(t, "{data: {spec: glyphs, labels: none, views: 4}, classes_per_batch: 10}")
	if c.Batch() != 40 || c.Data.Augment != "strokes" {
		t.Errorf("a batch of %d, augmentation %s", c.Batch(), c.Data.Augment)
	}
	stored, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if again := configOf(t, string(stored)); again.Batch() != 40 || again.Data.Views != 4 {
		t.Errorf("read again: %d views, a batch of %d", again.Data.Views, again.Batch())
	}
}

func TestWhatTrainingWithoutLabelsCannotUseIsRefused(t *testing.T) {
	for yaml, want := range map[string]string{
		"data: {spec: glyphs, labels: other}":                                   `data.labels is "other", want "none"`,
		"data: {spec: glyphs, views: 3}":                                        "data.labels none is missing",
		"data: {spec: glyphs, labels: none, views: 1}":                          "at least 2 are needed",
		"{data: {spec: glyphs, labels: none}, images_per_class: 4}":             "leave out images_per_class",
		"{data: {spec: glyphs, labels: none}, sampler: random}":                 "have one view of an image",
		"data: {spec: glyphs, labels: none, augment: none}":                     "the same picture",
		"{data: {spec: glyphs, labels: none}, loss: {name: proxy-anchor}}":      "loss proxy-anchor has a row for each class, and without labels every image is a class of its own",
		"{data: {spec: glyphs, labels: none}, loss: {terms: [{name: center}]}}": "term center has a row for each class",
		"{data: {spec: 'features:x.npy', labels: none}}":                        "dropout makes them differ",
	} {
		if _, err := settings(t, yaml).Config(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", yaml, err, want)
		}
	}
}
