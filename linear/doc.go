// Package linear learns linear metrics on tables: a matrix L such that the
// distance of two rows is taken between L x and L x'. With the Euclidean
// distance that is the Mahalanobis distance sqrt((x-x')^T M (x-x')) with
// M = L^T L; with the boundary-restricted metric (BRM) it is bounded, with the L1
// distance a far coordinate counts once.
//
// A Problem holds the rows and what is known about them: labels, pairs,
// triplets, quadruplets or chunks. A Learner is a method with its settings, one
// file each, whose Fit returns a Result: L, the metric, and how the fit went.
//
//	closed form     Euclidean, Covariance, GEigen, LDA, RCA, LFDA, GMML
//	by gradient     NCA, LMNN, ConvexLMNN, MMC, LSML, ODML, L1ML, BRMC, BRMR
//	by Newton steps DiagonalMMC
//	by projections  ITML, SDML, CAP
//	by EM           LCA
//
// Result transforms rows, measures distances, and scores pairs, triplets and
// quadruplets; KNN classifies. Constraints are drawn from labels by Sample
// functions with a seed; an unknown label is -1.
//
// Table reads CSV files, and Encoder turns rows of a table into numbers: one-hot
// categories, imputed gaps, standardized columns, all learned from the training
// rows alone. Compare runs learners over tables and random splits.
package linear
