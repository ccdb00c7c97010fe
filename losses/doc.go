// Package losses holds the losses of metric learning, with their miners and
// regularizers.
//
// To train with a loss, name it in the settings of a run (package run); nothing here is
// needed for that. To compute one, make it with New, or as a struct, and call Eval on a
// matrix of metric values between the rows of a batch:
//
//	l, err := losses.New("triplet", losses.Options{Metric: m}) // List says what there is
//	l := &losses.Triplet{Margin: 0.2}                          // or directly
//	grad := make([]float64, len(matrix.V))
//	r, err := l.Eval(matrix, grad)                             // r.Value, and its derivative in grad
//
// To add one of your own, implement Loss, test it with CheckGradient, and make it known
// to runs with Register; the program examples/customloss is a whole one.
//
// # What a loss sees
//
// A Loss sees a Matrix of metric values between the rows of a batch and either the same
// rows or one row for each class (a proxy), with labels. It returns its value and the
// gradient of the matrix. It never sees embeddings or an engine, so every loss works with
// every metric.Metric. Both directions, distance and similarity, go through the same
// formulas: Matrix.Similarity says which.
//
// Where a loss's authors used cosines or distances of unit vectors, a View in front of it
// (On) makes any metric look like these. New puts it there. A loss that is written in the
// metric's own values (contrastive, triplet, quadruplet) needs none.
//
// # Zero values
//
// The zero value of a loss, of which no exported field is set, is the paper's loss, with
// the constants that New has as defaults on a cosine. The comment of each loss states its
// unit: cosines, 1 - cosine, or distances of unit vectors. A matrix of the other
// direction, without a View, is an error.
//
// As soon as one field is set, every field counts as it is: those that are not set are 0.
// A field whose value means nothing (a scale of 0, NaN) is an error of Eval that names it.
// Where a loss cannot know a number by itself (the boundaries of Margin, the dimension of
// SpreadOut), the zero value is an error. The same holds for miners and terms.
//
// # Beside the loss
//
// Miners (TripletMiner, PairMiner) pick terms by values and labels only. Triplet needs
// none to look at all triplets, or at all in a Window: it sorts. A RowTerm is a
// regularizer on embeddings or weights themselves; NewTerm and ListTerms are its New and
// List.
//
// Whoever runs a loss also asks, for the few that have them, for its Parameters (learned
// boundaries), how many rows it wants for each class (PerClass), whether it adds a term on
// these (ClassTerm), and whether they are given instead of learned (FixedClasses). A loss
// of a program's own has these methods where it needs them: Parameters() []Param,
// PerClass() int, ClassTerm() Loss, FixedClasses(classes, dim int, seed uint64)
// ([]float64, error).
//
// A value of a loss keeps its working memory between calls, so that a training step
// allocates next to nothing after the first. It must not be used by two goroutines at
// once. Results are the same bits on any number of processors. With more than 1,000 class
// rows an engine may evaluate some losses in place of the host (engine.ClassLosses), so
// that the matrix stays with it; it must agree with the Loss.
package losses
