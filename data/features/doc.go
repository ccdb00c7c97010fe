// Package features reads rows of numbers that another program made, such as
// embeddings, and the labels that go with them.
//
// Open opens a file of rows: .npy, .npz, .safetensors or .pt, .parquet, or a text
// table. Arrays that lie in their file row by row, little-endian and uncompressed,
// are mapped: they need no memory of their own, whatever their number. Others are
// converted to float32 once and held.
//
//	f, err := features.Open("clip.npy")
//	...
//	defer f.Close()
//	x := make([]float32, 256*f.Width())
//	err = f.Read(x, 1024) // rows 1024 to 1279
//
// ReadColumn reads one value a row, a label for example, from a file of its own, and
// File.Column from the file of the rows.
//
// A name may choose a part of a file: "all.npz:image" is the array image, and
// "list.csv:species" the column species.
package features
