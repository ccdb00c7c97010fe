package losses

import "fmt"

// crossEntropy returns -log softmax(logits)[target] and turns logits into its
// gradient.
func crossEntropy(logits []float64, target int) float64 {
	own := logits[target]
	value := logSumExp(logits) - own
	logits[target]--
	return max(value, 0)
}

// classGroups returns for each class the place of its group of k consecutive
// columns: those of class c begin at out[c]*k. Groups may come in any order, and
// classes without rows may be missing.
func classGroups(loss string, m *Matrix, k int, out []int) ([]int, error) {
	if m.Cols%k != 0 {
		return nil, fmt.Errorf("losses: %s: %d columns are not a multiple of %d a class", loss, m.Cols, k)
	}
	count := 0
	for _, label := range m.ColLabels {
		count = max(count, label+1)
	}
	out = grow(out, count)
	for c := range out {
		out[c] = -1
	}
	for j, label := range m.ColLabels {
		switch {
		case j%k != 0 && m.ColLabels[j-1] != label:
			return nil, fmt.Errorf("losses: %s: column %d stands for class %d, but the %d columns of class %d are not complete", loss, j, label, k, m.ColLabels[j-1])
		case j%k == 0 && out[label] >= 0:
			return nil, fmt.Errorf("losses: %s wants %d column(s) a class; class %d has columns %d and %d", loss, k, label, out[label]*k, j)
		}
		out[label] = j / k
	}
	return out, nil
}
