// Package plot draws figures as PNG files: losses and recall over epochs, histograms
// of distances, ROC and DET curves, groups and lines with deviations, covariances, and
// grids of images with their nearest neighbors. It alone knows gonum/plot and fonts.
package plot
