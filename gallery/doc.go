// Package gallery keeps embeddings of images with what is known of the images:
// in files that other tools read, and in an index that grows.
//
// A Table is in memory. Read and Write exchange it with NumPy (.npy, .npz),
// spreadsheets (.csv), data frames (.parquet) and safetensors. What Write writes has
// a checksum where the format has room for one, and a folder of files gets one of
// each by WriteSums; Read compares them.
//
// An index is one file. Append adds rows to it: when it returns, they are there, and
// a process that is killed meanwhile leaves the file with the rows of before. Open
// reads it, and every row with its checksum. An index names the metric and the
// fingerprint of the model that made its rows, and refuses those of another model.
package gallery
