// Package sweep compares runs, and makes many of them from one file.
//
// A sweep file says what to vary: a grid, random draws, seeds, folds of the
// training classes. Plan lists the runs, Runner carries them out, several at a
// time, and continues where an earlier process stopped. Load reads finished runs,
// Compare groups them by their settings without the seed and tests each group
// against a baseline, and a Table is what comes of it.
package sweep
