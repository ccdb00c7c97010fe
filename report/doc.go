// Package report shows a run on one page of HTML that needs nothing but itself:
// what was set, the figures beside published ones, how training went, distances
// and errors, what is taken for what, and a map of the embedding. Pictures are
// in the page, there is no script, and nothing is fetched.
package report
