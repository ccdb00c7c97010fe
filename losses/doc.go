// Package losses holds the losses of metric learning, their miners and their
// regularisers as plain functions on small host matrices, and the one op that
// puts any of them into a graph.
//
// A Loss sees a matrix of metric values between the rows of a batch and either
// the same rows or one proxy a class, with labels; it returns its value and the
// gradient of the matrix. It never sees embeddings or an engine, so every loss
// works with every layers.Metric.
package losses
