// Package eval measures embeddings: exact neighbor search, retrieval,
// clustering and verification figures, the geometry of classes, and pictures
// of all of them.
//
// Begin with Evaluate. It does everything for a set of labeled embeddings, each row
// being a query against all the others (leave-one-out), and returns Figures, which
// serialize to JSON:
//
//	e := &eval.Embeddings{X: rows, N: n, H: h, Labels: labels} // rows is (n, h), row-major
//	m, err := metric.Parse("cosine")
//	figures, err := eval.Evaluate(ctx, nil, e, m, eval.Options{}) // nil: on the CPU
//	recall, ok := figures.RecallAt(1)
//
// Its parts stand alone:
//
//   - Neighbors: the K nearest gallery rows of each query, in the order of
//     brute force in float64. BRM with p = 2 is searched through a low-rank
//     approximation with a proven bound; only what it leaves open is computed.
//   - Retrieve: the ranks of the right answers, hence Recall@K, R-precision,
//     MAP@R, MAP and MRR, under a stated TieRule.
//   - Expand: features whose plain squared Euclidean distance is D^p of BRM.
//   - KMeans and Cluster, then CompareClusters: NMI, AMI, ARI, pairwise F1 and more.
//   - Pi, SpectralDecay, Covariance, SamplePairs: geometry.
//   - NewROC: verification from the distances of pairs, and thresholds
//     calibrated on them (ROC.ByEER, ByFAR, ByAccuracy, ByFBeta, ByCost).
//
// Package eval/plot draws these figures, eval/tsne maps of the rows.
//
// Everything is measured with the metric that is passed in, so that a model
// trained with a boundary-restricted metric is also searched with it. Numbers
// called distances are distances: a similarity s is turned into 1 - s (cosine)
// or -s (dot product).
package eval
