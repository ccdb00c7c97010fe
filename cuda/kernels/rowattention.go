package kernels

// ScoreWidth is how far rows of scores and weights are apart, so that the matrix of every head
// begins at a multiple of 16 bytes.
func (h Heads) ScoreWidth() int { return (h.Tokens + 7) / 8 * 8 }

// Matrices is how many matrices a batch of products has: one a head and image.
func (h Heads) Matrices() int { return h.Batch * h.Heads }

// The arrays of addresses that AttentionPlaces fills, in their order. The last five are
// for the gradient.
const (
	PlaceQ = iota
	PlaceK
	PlaceV
	PlacePlain // y or dy
	PlaceScores
	PlaceWeights
	PlaceSlopes  // the gradient of the weights
	PlaceDScores // that of the scores
	PlaceDQ
	PlaceDK
	PlaceDV
	Places // count of arrays
)

// AttentionPlaces leaves at places the addresses of matrices, arrays of h.Matrices()
// each. plain is y or dy (batch, tokens, d); scores and slopes are float32, weights and
// dscores of type t. For the forward pass slopes, dscores and dqkv are 0.
func AttentionPlaces(t Type, h Heads, places, qkv, plain, scores, weights, slopes, dscores, dqkv Ptr) Launch {
	n := h.Matrices()
	return launch("attention_places_"+t.String(), flat(int64(n)), n, h.Tokens, h.Heads, h.Size, h.ScoreWidth(), places, qkv, plain, scores, weights, slopes, dscores, dqkv)
}

func (h Heads) scoreRows() (rows int64, grid [3]int) {
	rows = int64(h.Matrices()) * int64(h.Tokens)
	return rows, [3]int{int((rows + 3) / 4), 1, 1}
}

// AttentionWeights sets weights to the softmax of every row of scores, and logSum (batch,
// heads, tokens).
func AttentionWeights(t Type, h Heads, weights, logSum, scores Ptr) Launch {
	rows, grid := h.scoreRows()
	return launch("attention_weights_"+t.String(), grid, rows, h.Tokens, h.ScoreWidth(), weights, logSum, scores)
}

// AttentionSlopes sets weights as AttentionWeights does and dscores to the gradient of
// the scores from slopes, that of the weights.
func AttentionSlopes(t Type, h Heads, weights, dscores, scores, slopes, logSum Ptr) Launch {
	rows, grid := h.scoreRows()
	return launch("attention_slopes_"+t.String(), grid, rows, h.Tokens, h.ScoreWidth(), weights, dscores, scores, slopes, logSum)
}
