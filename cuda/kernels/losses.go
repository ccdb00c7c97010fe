package kernels

// View says which similarity a loss sees of a metric's value d: A + B*d + C*d^2.
type View struct{ A, B, C float32 }

// ProxyAnchor returns the launches of the proxy-anchor loss (losses.ProxyAnchor)
// over d (rows, columns), of which column j stands for class j. labels (rows) are
// whole numbers as float32; stats has room for 6*columns float32 and share for one.
// loss receives the loss; grad (rows, columns) the derivative with respect to d.
func ProxyAnchor(rows, columns int, loss, grad, share, stats, d, labels Ptr, alpha, posMargin, negMargin float32, v View) []Launch {
	n := int64(rows) * int64(columns)
	return []Launch{
		launch("proxy_anchor_columns", [3]int{tiles(columns, 32), 1, 1}, rows, columns, stats, d, labels, alpha, posMargin, negMargin, v.A, v.B, v.C),
		launch("proxy_anchor_total", [3]int{1, 1, 1}, columns, loss, share, stats),
		launch("proxy_anchor_grad", flat(n), n, columns, grad, d, labels, stats, share, alpha, posMargin, negMargin, v.A, v.B, v.C),
	}
}

// ClassSoftmax chooses among the losses that are a softmax over classes. The similarity
// to the own class, as the cosine of an angle, is that of the angle plus one whose
// cosine and sine are given, or past pi the similarity less Far; then less Margin.
type ClassSoftmax struct {
	Scale             float32 // of similarities
	Cosine, Sine, Far float32 // 1, 0, 0 for no angle
	Margin            float32
	Smoothing         float32 // share of the other classes in the target
	OthersOnly        bool    // the own class is not in the denominator
}

// Launches returns those over d (rows, columns), of which column j stands for class
// j. labels (rows) are whole numbers as float32; rowLosses has room for rows
// float32. loss receives the mean cross-entropy, grad (rows, columns) its derivative
// with respect to d.
func (s ClassSoftmax) Launches(rows, columns int, loss, grad, rowLosses, d, labels Ptr, v View) []Launch {
	each := 1 / float32(rows)
	return []Launch{
		launch("class_softmax", perRow(rows), columns, rowLosses, grad, d, labels, s.Scale, each, s.Cosine, s.Sine, s.Far, s.Margin, s.Smoothing, s.OthersOnly, v.A, v.B, v.C),
		launch("sum_floats", [3]int{1, 1, 1}, rows, loss, rowLosses, each),
	}
}
