// Package linear is the home of linear (Mahalanobis) metric learners on tables.
package linear
