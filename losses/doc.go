// Package losses holds the losses of metric learning, their miners and their
// regularisers as plain functions on small host matrices, and the one op that
// puts any of them into a graph.
//
// A Loss sees a matrix of metric values between the rows of a batch and either
// the same rows or one proxy a class, with labels; it returns its value and the
// gradient of the matrix. It never sees embeddings or an engine, so every loss
// works with every metric.Metric. A few losses over class rows an engine may evaluate
// in place of the host (layers.ClassLosses), where there are more than 1,000 rows: the
// matrix and its gradient then stay with it. The Loss is what is right.
//
// A loss is a struct whose exported fields are its parameters:
//
//	l := &losses.Triplet{Margin: 0.2, Reduction: losses.MeanAll}
//	r, err := l.Eval(matrix, grad)
//
// The zero value, of which no exported field is set, is the paper's loss with the
// constants that New has as defaults on a cosine, in the unit that the comment of
// each loss states: cosines, 1 - cosine, or distances of unit vectors. A matrix that
// is not in that unit goes through a View (On), which a matrix in the other direction
// is an error without. As soon as one field is set, every field counts as it is: those
// that are not set are 0, and a field whose value means nothing (a scale of 0, NaN) is
// an error of Eval that names it. Where a loss cannot know a number by itself (the
// boundaries of Margin, the dimension of SpreadOut) the zero value is an error. The
// same holds for miners and terms.
//
// New makes the same by name, with defaults that fit the metric and its scale,
// and List describes what New takes. Between metric and loss stands a View:
// none where the loss is written in the metric's own values (contrastive,
// triplet, quadruplet), else the one that makes any metric look like what the
// loss's authors used, a cosine or a distance of unit vectors. Both directions,
// distance and similarity, go through the same formulas: Matrix.Similarity
// says which.
//
// Whoever runs a loss also asks, for the few that have them, for its Parameters
// (learnt boundaries), how many class rows it wants (PerClass), whether it adds a
// term on these (ClassTerm), and whether they are given instead of learnt
// (FixedClasses). A RowTerm is a regulariser on embeddings or weights themselves;
// NewTerm and ListTerms are its New and List.
//
// Miners (TripletMiner, PairMiner) pick terms by values and labels only.
// Triplet needs none to look at all triplets, or at all in a Window: it sorts.
//
// A loss of a program's own implements Loss, and where it needs more the methods that
// these functions ask for: Parameters() []Param, PerClass() int, ClassTerm() Loss,
// FixedClasses(classes, dim int, seed uint64) ([]float64, error). Register makes it known
// by a name, so that runs and their settings can have it; CheckGradient tests its
// gradient.
//
// A value of a loss keeps its working memory between calls, so that a training
// step allocates next to nothing after the first; it must not be used by two
// goroutines at once. Results are the same bits on any number of processors.
package losses
