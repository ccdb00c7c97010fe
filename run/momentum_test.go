package run

import (
	"strings"
	"testing"
)

func TestWhatAMomentumEncoderCannotUseIsRefused(t *testing.T) {
	for yaml, want := range map[string]string{
		"momentum_encoder: 1":                              "to less than 1",
		"momentum_encoder: -0.5":                           "to less than 1",
		"{momentum_encoder: 0.9, loss: {name: proxy-nca}}": "loss proxy-nca compares with classes",
		"{momentum_encoder: 0.9, loss: {memory: 20}}":      "is smaller than a batch",
		"{momentum_encoder: 0.9, model: {scaling: learn}}": "changes the length of embeddings",
		"{momentum_encoder: 0.9, model: {flow: default}}":  "mixes the images of a batch",
	} {
		if _, err := settings(t, "data: {spec: glyphs}", Setting{Path: "seed", Value: "1"}).Config(); err != nil {
			t.Fatal(err)
		}
		if _, err := settings(t, yaml).Config(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", yaml, err, want)
		}
	}
}
