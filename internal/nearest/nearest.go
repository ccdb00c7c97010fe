// Package nearest finds what may have been meant by a mistyped name.
package nearest

import "strings"

// Of returns the candidate that takes the fewest changes to become name, or the only
// one that name is the beginning of. It finds none where every candidate differs in
// more than a third of the name (two letters of a short one, one of up to three), or where
// name and candidates are too long to be worth it.
func Of(name string, candidates []string) (string, bool) {
	const longest, most, beginning = 256, 4096, 3
	limit := max(2, len(name)/3)
	if len(name) < 4 {
		limit = min(1, len(name)-1)
	}
	if limit < 1 {
		return "", false
	}
	best, found := limit+1, ""
	for _, c := range candidates[:min(len(candidates), most)] {
		if len(name) > longest || len(c) > longest || max(len(c)-len(name), len(name)-len(c)) >= best {
			continue
		}
		if d := distance(name, c, best); d < best {
			best, found = d, c
		}
	}
	if found != "" || len(name) < beginning {
		return found, found != ""
	}
	for _, c := range candidates {
		if strings.HasPrefix(c, name) {
			if found != "" {
				return "", false
			}
			found = c
		}
	}
	return found, found != ""
}

// Hint is "; did you mean NAME?" with the nearest candidate, or nothing.
func Hint(name string, candidates []string) string {
	if near, ok := Of(name, candidates); ok {
		return "; did you mean " + near + "?"
	}
	return ""
}

// distance is Levenshtein's distance by bytes, or limit where it is not
// below limit.
func distance(a, b string, limit int) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
			least = min(least, row[j+1])
		}
		if least >= limit {
			return limit
		}
	}
	return row[len(b)]
}
