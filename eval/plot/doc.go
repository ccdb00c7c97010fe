// Package plot draws figures as PNG files and as SVG for a page of HTML: losses and
// recall over epochs, histograms of distances, ROC and DET curves, groups and lines with
// deviations, covariances, maps; and, as PNG alone, grids of images with their nearest
// neighbors. It alone knows gonum/plot and fonts.
package plot
