// Products of matrices by tensor cores. A warp has a 16 x 16 matrix of bfloat16, a 16 x 8
// one, and a 16 x 8 one of float32 in fragments: with g = lane/4 and t = lane%4, a lane has
//
//	of the first  rows g and g+8 of columns 2t and 2t+1, then both rows of 2t+8 and 2t+9,
//	of the second rows 2t and 2t+1, then 2t+8 and 2t+9, of column g,
//	of the sums   columns 2t and 2t+1 of row g, then of row g+8,
//
// two neighbors in a register, the first one in the lower half.
#ifndef VERNIER_FRAGMENTS_H
#define VERNIER_FRAGMENTS_H

#ifdef __CUDA__
// mma adds the product of fragments a and b to c. Every thread of the warp calls it.
FN void mma(float *c, const unsigned *a, unsigned b0, unsigned b1) {
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
				 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
				 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#else
void hostFragments(const unsigned *mine, int line);
unsigned hostFragment(int lane, int i);

// half is number k of two in a register.
FN float half(unsigned w, int k) { return floatOf(k & 1 ? w & 0xffff0000u : w << 16); }

FN void mma(float *c, const unsigned *a, unsigned b0, unsigned b1) {
	unsigned mine[6] = {a[0], a[1], a[2], a[3], b0, b1};
	hostFragments(mine, __LINE__);
	int g = (threadOf() & 31) / 4, t = threadOf() & 3;
	for (int i = 0; i < 4; i++) {
		int column = 2 * t + (i & 1);
		double sum = c[i];
		for (int k = 0; k < 16; k++) {
			int within = k % 8 / 2;
			float x = half(hostFragment(4 * g + within, (i >= 2) + 2 * (k >= 8)), k);
			sum += (double)x * half(hostFragment(4 * column + within, 4 + (k >= 8)), k);
		}
		c[i] = (float)sum;
	}
}
#endif

#endif
