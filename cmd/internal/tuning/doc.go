// Package tuning is the command tune of vernier.
package tuning
