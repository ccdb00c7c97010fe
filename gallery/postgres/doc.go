// Package postgres keeps a gallery in a table of PostgreSQL with pgvector 0.8 or later.
//
// The database finds rows that may be the nearest, through an HNSW index, by Euclidean
// distance of the rows as they are (by cosine or inner product where that is the metric).
// gallery.Search then computes every distance by the model's own metric. That the nearest
// rows are among those that the database finds is not proved, it is measured:
// gallery.MeasureRecall does it for the rows at hand.
package postgres
