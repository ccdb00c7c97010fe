// Package progress tells how far the opening of a set is and ends it with its context.
package progress
