// Package clitest holds what tests of several programs share: small data, and checks
// that every program passes.
package clitest

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// Stripes writes a folder of classes that a network can learn: stripes of one
// width and direction each, with noise and at any phase.
func Stripes(t *testing.T, classes, images int) string {
	t.Helper()
	root := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	for c := range classes {
		dir := filepath.Join(root, fmt.Sprintf("class %02d", c))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range images {
			img := image.NewGray(image.Rect(0, 0, 16, 16))
			phase := r.IntN(16)
			for y := range 16 {
				for x := range 16 {
					along := x
					if c%2 == 1 {
						along = y
					}
					v := 60 + r.IntN(40)
					if (along+phase)/(1+c/2)%2 == 0 {
						v += 120
					}
					img.SetGray(x, y, color.Gray{Y: uint8(v)})
				}
			}
			f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.png", i)))
			if err != nil {
				t.Fatal(err)
			}
			if err := png.Encode(f, img); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}
