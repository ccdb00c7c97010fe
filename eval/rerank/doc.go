// Package rerank puts the neighbors of queries in another order by what is near to
// them in turn: k-reciprocal encoding (Zhong et al. 2017) and weighted query expansion
// (Radenovic, Tolias and Chum 2018). Both work with every metric, need no labels and
// no training, and cost more than the search.
package rerank
