package kernels

// View says which similarity a loss sees of a metric's value d: A + B*d + C*d^2.
type View struct{ A, B, C float32 }

// ProxyAnchor returns the launches of the proxy-anchor loss (losses.ProxyAnchor)
// over d (rows, columns). rowLabels and columnLabels are int32; stats has room for
// 6*columns float32. out receives the loss and one number more; grad (rows,
// columns) the derivative with respect to d.
func ProxyAnchor(rows, columns int, out, grad, stats, d, rowLabels, columnLabels Ptr, alpha, posMargin, negMargin float32, v View) []Launch {
	n := int64(rows) * int64(columns)
	return []Launch{
		launch("proxy_anchor_columns", [3]int{tiles(columns, 32), 1, 1}, rows, columns, stats, d, rowLabels, columnLabels, alpha, posMargin, negMargin, v.A, v.B, v.C),
		launch("proxy_anchor_total", [3]int{1, 1, 1}, columns, out, stats),
		launch("proxy_anchor_grad", flat(n), n, columns, grad, d, rowLabels, columnLabels, stats, out, alpha, posMargin, negMargin, v.A, v.B, v.C),
	}
}

// SoftmaxLoss returns the launches of the mean cross-entropy of the softmax over
// columns at scale times the similarity, with one column a class. rowLosses has room
// for rows float32; out receives the loss, grad the derivative with respect to d.
func SoftmaxLoss(rows, columns int, out, grad, rowLosses, d, rowLabels, columnLabels Ptr, scale float32, v View) []Launch {
	return []Launch{
		launch("softmax_loss", perRow(rows), columns, rowLosses, grad, d, rowLabels, columnLabels, scale, 1/float32(rows), v.A, v.B, v.C),
		launch("sum_floats", [3]int{1, 1, 1}, rows, out, rowLosses, 1/float32(rows)),
	}
}
