// Package run is what the folder of a run holds and what is done with it: its
// settings, the sets of images that they mean, its model and checkpoints, and how a
// model embeds images, is measured and exported. Package train makes runs.
package run
