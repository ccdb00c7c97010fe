// Package tpe proposes points of a search space from the values of earlier ones: by a
// tree-structured Parzen estimator, or at random.
//
// A proposal is a function of the space, the seed, its number and the trials that it is
// made from. So a study that is stopped and continued, or that several processes work on,
// is the same study.
package tpe
