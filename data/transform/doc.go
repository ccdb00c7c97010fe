// Package transform makes numbers of images: steps that resize, crop and vary them, a
// Pipeline of steps with its Normalization, and Recipes, which write the usual ones.
// An augmentation of a program's own is registered by name.
package transform
