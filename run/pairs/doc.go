// Package pairs trains on pairs of images of which somebody has said whether they show the
// same: a file of such pairs (Read), what follows from them (New), batches that hold them
// (NewSampler), and a loss on the pairs of a batch that are known (Loss).
//
// What is known of a pair is what the file says, and what follows: images that pairs of the
// same connect are the same, and where one of such a group is different from one of another,
// all of both are (the closure of must-link and cannot-link constraints, Wagstaff et al. 2001,
// Constrained k-means clustering with background knowledge, Sect. 3). Of all other pairs
// nothing is known, and they have no part in the loss.
package pairs
