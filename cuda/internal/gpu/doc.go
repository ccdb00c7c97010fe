// Package gpu is a device.Driver over a real GPU: the driver API by way of
// gorgonia.org/cu, what that lacks by package native. It is part of programs
// built with the tag gpu, and empty in all others.
package gpu
