// Package disk maps and locks files, and says how much room is left for them.
package disk
