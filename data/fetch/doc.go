// Package fetch fetches public data sets: Sets lists them, and Get fetches the files of one,
// verifies their checksums and continues where a transfer was broken off. data.Open reads
// what it fetched:
//
//	birds, err := fetch.Find("cub200")
//	err = fetch.Get(ctx, birds, "sets", fetch.Options{})
//	set, err := data.Open(ctx, birds.Use("sets"), data.Options{})
package fetch
