// Package trace takes the time of every piece of work of a step: a table of what takes
// the most, and a file that the trace viewers of Chrome and Perfetto open.
package trace
