// Package data turns what lies on a disk into batches of numbers: data sets,
// their class splits, image decoding and transforms, samplers and the loader.
//
// To train on a set, name it in the settings of a run (package run). To read one, begin
// with Open. It reads a specification such as "glyphs" or "folder:/data/birds.zip" and
// returns a Set: items with labels 0..C-1 and the names behind the labels. Split
// divides its classes into training and test classes, which never overlap:
//
//	set, err := data.Open(ctx, "folder:birds.zip", data.Options{})
//	train, test, err := data.Split(set, data.FirstHalf())
//
// Package data/pixels decodes images; a Pipeline of package data/transform makes numbers
// of them. A Sampler says which items form the batches of an epoch, as a function of its
// seed and the epoch alone. A Loader runs both with several workers:
//
//	sampler, err := data.NewBalanced(train, 16, 4, seed)
//	loader, err := data.NewLoader(train, pipeline, data.LoaderOptions{Seed: seed})
//	for batch, err := range loader.Epoch(ctx, sampler, epoch, 0) { ... }
//
// Every random draw is a function of (seed, epoch, item, visit), so batches do
// not depend on the number of workers, and a run continues from (epoch, batch).
//
// Images are handed over as (B, 3, H, W) float32. Of a baseline JPEG no more is decoded
// than a random crop needs.
//
// A program has sets and samplers of its own: NewSet makes a Set of labels and a function
// that loads an image, Sampler is an interface of two methods. Register and
// RegisterSampler give them names, by which the settings of a run have them. The program
// examples/customdata is a whole one.
//
// Prepare keeps the images of a set decoded, in a mapped file that is many times
// faster to read. Check finds what is wrong with a set, MakeEmoji makes one of
// public drawings, and package data/fetch fetches a public one.
package data
