// Package model says what a trained metric is: a Spec (backbone, head,
// embedding normalisation, metric, preprocessing), named parameters, and one
// file that holds both. A Model embeds images; everything that measures or
// exports starts from it.
package model
