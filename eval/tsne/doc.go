// Package tsne draws maps of embeddings: points in the plane, near each other where
// the rows are near by the metric that a search uses (van der Maaten and Hinton 2008),
// by the method of Barnes and Hut (van der Maaten 2014).
//
// Distances far apart in such a map, and the sizes of groups, mean nothing. eval.PCA
// is the projection that keeps directions instead.
package tsne
