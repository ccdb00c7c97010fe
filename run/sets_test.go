package run

import (
	"testing"

	"github.com/vernier-ml/vernier/data"
)

// One class with two images is enough to be measured by.
func TestOneTestClassWithTwoImagesIsEnough(t *testing.T) {
	items := []data.Item{{Label: 0}, {Label: 1}, {Label: 1}}
	test := &data.Set{Classes: []string{"a", "b"}, Items: items}
	if err := (Sets{Test: test}).CheckMeasurable(DataConfig{}); err != nil {
		t.Error(err)
	}
	test.Items = items[:2]
	if err := (Sets{Test: test}).CheckMeasurable(DataConfig{}); err == nil {
		t.Error("two single images: no error")
	}
}
