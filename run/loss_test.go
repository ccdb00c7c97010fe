package run

import (
	"strings"
	"testing"
)

func TestDistanceNormalizationIsForLossesOnPairs(t *testing.T) {
	const base = "{data: {spec: glyphs}, model: {normalization: distance, metric: euclidean}, loss: "
	for loss, want := range map[string]string{
		"{name: triplet}":                          "",
		"{name: proxy-anchor}":                     "loss proxy-anchor compares embeddings with rows of classes",
		"{name: triplet, terms: [{name: center}]}": "loss center compares embeddings with rows of classes",
		"{name: triplet, terms: [{name: mdr}]}":    "",
	} {
		_, err := settings(t, base+loss+"}").Config()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", loss, err, want)
		}
	}
}
