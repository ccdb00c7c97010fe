package pixels

// The inverse cosine transform in 13-bit fixed point by the scheme of Loeffler,
// Ligtenberg & Moschytz (ICASSP 1989), eleven multiplications a line, with the
// roundings of libjpeg's accurate integer method.
const (
	dctBits  = 13
	passBits = 2 // kept between the passes

	fix0298 = 2446  // 0.298631336
	fix0390 = 3196  // 0.390180644
	fix0541 = 4433  // 0.541196100
	fix0765 = 6270  // 0.765366865
	fix0899 = 7373  // 0.899976223
	fix1175 = 9633  // 1.175875602
	fix1501 = 12299 // 1.501321110
	fix1847 = 15137 // 1.847759065
	fix1961 = 16069 // 1.961570560
	fix2053 = 16819 // 2.053119869
	fix2562 = 20995 // 2.562915447
	fix3072 = 25172 // 3.072711026
)

// inverseDCT writes the 8 x 8 samples of a block, shifted to 0..255. last is the
// place in the stream of the last coefficient that is not 0.
func inverseDCT(b *[64]int32, last int, dst []uint8, stride int) {
	if last == 0 { // flat
		v := clip8((b[0]<<passBits+1<<(passBits+2))>>(passBits+3) + 128)
		for y := range 8 {
			row := dst[y*stride : y*stride+8 : y*stride+8]
			for x := range row {
				row[x] = v
			}
		}
		return
	}
	const down = dctBits - passBits
	for x := range 8 {
		c := b[x : x+57]
		if c[8]|c[16]|c[24]|c[32]|c[40]|c[48]|c[56] == 0 {
			v := c[0] << passBits
			c[0], c[8], c[16], c[24], c[32], c[40], c[48], c[56] = v, v, v, v, v, v, v, v
			continue
		}
		e0, e1, e2, e3 := evenPart(c[0], c[16], c[32], c[48])
		o0, o1, o2, o3 := oddPart(c[56], c[40], c[24], c[8])
		const half = 1 << (down - 1)
		c[0], c[56] = (e0+o3+half)>>down, (e0-o3+half)>>down
		c[8], c[48] = (e1+o2+half)>>down, (e1-o2+half)>>down
		c[16], c[40] = (e2+o1+half)>>down, (e2-o1+half)>>down
		c[24], c[32] = (e3+o0+half)>>down, (e3-o0+half)>>down
	}
	for y := range 8 {
		r := b[8*y : 8*y+8 : 8*y+8]
		e0, e1, e2, e3 := evenPart(r[0], r[2], r[4], r[6])
		o0, o1, o2, o3 := oddPart(r[7], r[5], r[3], r[1])
		const up = dctBits + passBits + 3
		const half = 1<<(up-1) + 128<<up
		out := dst[y*stride : y*stride+8 : y*stride+8]
		out[0], out[7] = clip8((e0+o3+half)>>up), clip8((e0-o3+half)>>up)
		out[1], out[6] = clip8((e1+o2+half)>>up), clip8((e1-o2+half)>>up)
		out[2], out[5] = clip8((e2+o1+half)>>up), clip8((e2-o1+half)>>up)
		out[3], out[4] = clip8((e3+o0+half)>>up), clip8((e3-o0+half)>>up)
	}
}

// evenPart takes the coefficients 0, 2, 4, 6 of a line.
func evenPart(c0, c2, c4, c6 int32) (e0, e1, e2, e3 int32) {
	z := (c2 + c6) * fix0541
	t2, t3 := z-c6*fix1847, z+c2*fix0765
	t0, t1 := (c0+c4)<<dctBits, (c0-c4)<<dctBits
	return t0 + t3, t1 + t2, t1 - t2, t0 - t3
}

// oddPart takes the coefficients 7, 5, 3, 1 of a line.
func oddPart(t0, t1, t2, t3 int32) (o0, o1, o2, o3 int32) {
	z5 := (t0 + t2 + t1 + t3) * fix1175
	z1, z2 := -(t0+t3)*fix0899, -(t1+t2)*fix2562
	z3, z4 := z5-(t0+t2)*fix1961, z5-(t1+t3)*fix0390
	return t0*fix0298 + z1 + z3, t1*fix2053 + z2 + z4, t2*fix3072 + z2 + z3, t3*fix1501 + z1 + z4
}
