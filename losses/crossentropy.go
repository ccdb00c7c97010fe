package losses

// crossEntropy returns -log softmax(logits)[target] and turns logits into its
// gradient.
func crossEntropy(logits []float64, target int) float64 {
	own := logits[target]
	value := logSumExp(logits) - own
	logits[target]--
	return max(value, 0)
}

// ownColumns appends for each class its columns in ascending order:
// out[start[c]:start[c+1]] are those of class c.
func ownColumns(m *Matrix, start, out []int) (starts, columns []int) {
	count := 0
	for _, label := range m.ColLabels {
		count = max(count, label+1)
	}
	start = grow(start, count+1)
	clear(start)
	for _, label := range m.ColLabels {
		start[label+1]++
	}
	for c := range count {
		start[c+1] += start[c]
	}
	out = grow(out, m.Cols)
	next := make([]int, count)
	for j, label := range m.ColLabels {
		out[start[label]+next[label]] = j
		next[label]++
	}
	return start, out
}

// oneColumn returns for each class its only column, or an error for a loss that
// cannot mean anything on several.
func oneColumn(loss string, m *Matrix, out []int) ([]int, error) {
	count := 0
	for _, label := range m.ColLabels {
		count = max(count, label+1)
	}
	out = grow(out, count)
	for c := range out {
		out[c] = -1
	}
	for j, label := range m.ColLabels {
		if out[label] >= 0 {
			return nil, severalColumns(loss, label, out[label], j)
		}
		out[label] = j
	}
	return out, nil
}
