// Package optim moves parameters along their gradients: SGD with momentum, Adam,
// AdamW and RMSprop as PyTorch computes them, and schedules of the learning rate.
package optim
