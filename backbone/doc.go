// Package backbone holds the networks that turn images into feature maps, one
// file a network. Parameter names are those of the public checkpoints.
package backbone
