// Package gallery keeps embeddings of images with what is known of the images:
// in files that other tools read, and in an index that grows and is searched
// where it lies.
//
// A Table is in memory. Read and Write exchange it with NumPy (.npy, .npz),
// spreadsheets (.csv), data frames (.parquet) and safetensors.
//
// An Index is one file, mapped into memory. Append adds rows to it: a process
// that is killed meanwhile leaves the file with the rows of before. It names the
// metric and the fingerprint of the model that made its rows, and refuses those
// of another model.
package gallery
