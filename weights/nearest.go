package weights

// nearest returns the candidate that takes the fewest changes to become name. It
// finds none where every candidate differs in more than a third of the name, or
// where name and candidates are too long to be worth it.
func nearest(name string, candidates []string) (string, bool) {
	const longest, most = 256, 4096
	limit := max(2, len(name)/3)
	best, found := limit+1, ""
	for _, c := range candidates[:min(len(candidates), most)] {
		if len(name) > longest || len(c) > longest || max(len(c)-len(name), len(name)-len(c)) >= best {
			continue
		}
		if d := editDistance(name, c, best); d < best {
			best, found = d, c
		}
	}
	return found, best <= limit
}

// editDistance is Levenshtein's distance by bytes, or limit where it is not
// below limit.
func editDistance(a, b string, limit int) int {
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
