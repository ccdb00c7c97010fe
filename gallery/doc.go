// Package gallery keeps embeddings of images with what is known of the images:
// in files that other tools read, and in an index that grows.
//
// Applications that search by image use package vernier, which does this for them. Here
// rows are embedded already:
//
//	t := &gallery.Table{Embeddings: e, Paths: paths, Classes: classes, Metric: "cosine", Model: fingerprint}
//	rows, err := gallery.Append("birds.index", t.Info(), t) // made if it is not there
//	t, err = gallery.Open("birds.index")
//	s, err := t.Searcher(nil, t.Info())
//	hits, err := s.Search(ctx, queries, 10, eval.SearchOptions{})
//	err = gallery.Write("birds.parquet", t)
//
// A Table is in memory. Read and Write exchange it with NumPy (.npy, .npz),
// spreadsheets (.csv), data frames (.parquet) and safetensors. Write puts a
// checksum into the formats that have room for one, WriteSums lists those of a
// folder's files in SHA256SUMS, and Read checks both.
//
// An index is one file. Append adds rows to it: when it returns, they are there, and
// a process that is killed meanwhile leaves the file with the rows of before. Open
// reads it, and every row with its checksum. An index names the metric and the
// fingerprint of the model that made its rows, and refuses those of another model.
//
// A Store is a gallery that changes while it is searched: rows are added, replaced and
// removed by their keys. OpenFile makes one of an index. Search asks a store for rows that
// may be the nearest, and settles by the model's own metric which of them are.
package gallery
