// Package comm connects the ranks that work on one run: what they gather, sum and agree
// on. Ranks are processes that a launcher started, or goroutines of one process
// (Local); a program that runs alone is a group of one (Single).
//
// Sums are taken in a fixed order, that of Tree, and are the same bits on every rank. A
// rank that holds 1, 2, 4, 8, ... successive parts, adds these by Tree and then calls
// Sum comes to the bits of a single rank that adds all parts by Tree: so results need not
// depend on the number of ranks.
package comm
