// Package source reads the files of a set where they lie: a folder, or a zip or tar archive
// that is read in place. Open tells them apart, and ReadEntries is the one place that says
// which files of one are images of a set, what is left out and what may be missing.
package source
