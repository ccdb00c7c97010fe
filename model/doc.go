// Package model says what a trained metric is: a Spec (backbone, head,
// embedding normalization, metric, preprocessing), named parameters, and one
// file that holds both. A Model embeds images; everything that measures or
// exports starts from it.
//
// LoadWeights lets a model start from a public weight file, Freeze says which of
// its parameters training leaves alone.
package model
