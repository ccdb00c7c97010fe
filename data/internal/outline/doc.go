// Package outline draws outlines into images: those of a font's glyphs, in whole numbers
// so that every machine draws the same pixels, and SVG drawings of emoji sets.
package outline
