// Package weaviate keeps a gallery in a collection of Weaviate, a database that shards rows
// over the nodes of a cluster by itself: a gallery.Store.
//
// It speaks to the server by HTTP. The server's own client for Go links 220 packages that are
// not Go's, and 15 MB.
//
// Weaviate has no transactions, so a row is an object that never changes, of one push, and one
// object says which pushes count (see state). Whoever searches passes over the rows of others.
package weaviate
