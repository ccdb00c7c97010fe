package data

import (
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

func TestFoldsDivideTheClasses(t *testing.T) {
	f := make(files)
	for c := range 11 {
		for i := range 3 {
			f[string(rune('a'+c))+"/"+string(rune('a'+i))+".png"] = imagetest.EncodePNG(t, picture(3, 3, uint64(i)))
		}
	}
	set := mustOpen(t, "folder:"+f.folder(t))
	var seen []string
	for n := 1; n <= 4; n++ {
		fit, val, err := Fold(set, n, 4)
		if err != nil {
			t.Fatal(err)
		}
		if k := len(val.Classes); k < 2 || k > 3 || len(val.Items) != 3*k || len(fit.Items)+len(val.Items) != len(set.Items) {
			t.Errorf("fold %d: %d classes, %d + %d images", n, k, len(fit.Items), len(val.Items))
		}
		for _, c := range val.Classes {
			if slices.Contains(fit.Classes, c) {
				t.Errorf("fold %d: class %s is on both sides", n, c)
			}
		}
		seen = append(seen, val.Classes...)
	}
	if !slices.Equal(seen, set.Classes) {
		t.Errorf("the folds together have %v", seen)
	}
	for says, x := range map[string][2]int{"fold 0 of 4": {0, 4}, "fold 5 of 4": {5, 4}, "fold 1 of 1": {1, 1}, "need 12 classes": {1, 6}} {
		if _, _, err := Fold(set, x[0], x[1]); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: got %v", x, err)
		}
	}
}
