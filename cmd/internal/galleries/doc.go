// Package galleries is the command gallery of vernier: galleries that change, in files and
// databases.
package galleries
