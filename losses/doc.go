// Package losses holds the losses of metric learning, their miners and their
// regularisers as plain functions on small host matrices, and the one op that
// puts any of them into a graph.
//
// A Loss sees a matrix of metric values between the rows of a batch and either
// the same rows or one proxy a class, with labels; it returns its value and the
// gradient of the matrix. It never sees embeddings or an engine, so every loss
// works with every layers.Metric.
//
// A loss is a struct whose exported fields are its parameters:
//
//	l := &losses.Triplet{Margin: 0.2, Reduction: losses.MeanAll}
//	r, err := l.Eval(matrix, grad)
//
// New makes the same by name, with defaults that fit the metric and its scale,
// and List describes what New takes. Between metric and loss stands a View:
// none where the loss is written in the metric's own values (contrastive,
// triplet), else the one that makes any metric look like what the loss's
// authors used, a cosine or a distance of unit vectors. Both directions,
// distance and similarity, go through the same formulas: Matrix.Similarity
// says which.
//
// A value of a loss keeps its working memory between calls, so that a training
// step allocates nothing after the first few; it must not be used by two
// goroutines at once.
package losses
