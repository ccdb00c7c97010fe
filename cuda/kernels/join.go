package kernels

// JoinAffine sets y = act(x*scale + shift) for n numbers in c channels, where y has rows
// of width numbers: it is c of the channels of a larger map. scale and shift (c float32)
// may be 0.
func JoinAffine(t Type, n int64, c int, y Ptr, width int, x, scale, shift Ptr, ceiling float32) Launch {
	return launch("join_affine_"+t.String(), vectors(t, n), n, c, y, width, x, scale, shift, ceiling)
}
