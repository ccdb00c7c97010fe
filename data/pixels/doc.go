// Package pixels decodes images as Pillow does, within bounds of memory and work, and
// resizes them as Pillow does: JPEG, PNG, GIF, BMP, WebP, TIFF and PNM files become
// 8-bit RGB.
package pixels
