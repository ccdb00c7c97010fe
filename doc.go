// Package vernier embeds images with a trained model, tells how far apart two images
// are and whether they show the same, and finds the nearest images of an index. It is
// for applications; nothing else has to be imported for that. Begin with Load:
//
//	m, err := vernier.Load("runs/birds") // or a model file, birds.safetensors
//	rows, err := m.Embed(ctx, vernier.File("robin.jpg"), vernier.Picture(img))
//	same, err := m.Same(ctx, vernier.File("a.jpg"), vernier.File("b.jpg"))
//	x, err := m.OpenIndex("birds.index")
//	near, err := x.Search(ctx, vernier.Reader(request.Body), 10)
//
// The program examples/embed is a whole one, and docs/guide.md tells the way from a folder
// of photographs to it. Models are trained by the command vernier, or by a program with
// package train, as examples/train. An
// index is made by vernier index or AppendIndex, a threshold by vernier verify.
//
// A Model and its indexes may be used by several goroutines at a time: they decode
// images side by side and take turns at the network, which uses all processors. What a
// Model holds besides its parameters is bounded: decoded images by 1 GiB, the network's
// activations by 128 MiB for each of three sizes of batches.
package vernier
