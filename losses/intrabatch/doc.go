// Package intrabatch adds the layers of intra-batch connections (Seidenschwarz, Elezi and
// Leal-Taixé 2021) to a graph: attention among the embeddings of a batch, which only training
// needs.
package intrabatch
