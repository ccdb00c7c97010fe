// Package plural writes numbers of things in English.
package plural

import (
	"fmt"

	"github.com/dustin/go-humanize/english"
)

// Of is a number of things, of which one is called so: "1 class", "2 classes".
func Of(n int, one string) string {
	return fmt.Sprintf("%d %s", n, english.PluralWord(n, one, ""))
}
