// Package links holds the mathematics of attributable visual similarity learning (Zhang et al.
// 2022): the units of an embedding at several levels of a network, how certain they are, how
// the units of one level are made of those of the level below, and the distance along these
// links.
//
// With h units a level, delta_l = (x_l - y_l)^2 coordinate by coordinate of rows of length 1:
//
//	g_1 = delta_1
//	p_l = sigmoid(Gamma (c_l(x) c_l(y) a_l + b_l)), unit by unit
//	g_l = p_l delta_l + (1 - p_l) (g_{l-1} E_{l-1})
//	D = sum of g_L
//
// E are the columns of the links that are left (Edges), c the certainties of two images
// (Certainty), a and b learned.
package links
