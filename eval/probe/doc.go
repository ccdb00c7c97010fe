// Package probe measures frozen embeddings by how well classes can be told from them:
// the votes of nearest neighbors, a linear classifier, and, without any classifier, how
// evenly unit rows fill the sphere (uniformity) and how near rows of one class are
// (alignment). These are the figures that learning without labels is judged by. They need
// labels for measuring, but no classes of their own for testing: Divide divides the rows
// of every class.
package probe
