// Package public knows weight files that everyone starts from: their addresses, checksums
// and terms, and the networks they are for. It keeps them in the user's cache folder:
//
//	f, err := public.Find("resnet50-v2")
//	path, err := public.Get(ctx, f, public.Options{})
//	m.LoadWeights(path, "")
//
// The settings of a run take such a name in place of a path.
package public
