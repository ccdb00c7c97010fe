// Package tabular is the command linear of vernier: metrics that are learned on tables.
package tabular
