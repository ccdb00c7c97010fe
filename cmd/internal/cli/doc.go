// Package cli is what the programs of this module have in common: a Program with its exit
// codes, signals, log lines, completions and manual pages; groups of flags that several
// commands have (device, cache, tables, comparisons); limits that flags check while the
// command line is read; errors as a user reads them; and a Reporter of progress.
package cli
