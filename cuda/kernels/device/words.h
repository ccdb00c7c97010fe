// How the numbers of a map are stored, one at a time and in groups: the WIDTH numbers
// of 16 bytes, which a thread reads or writes at once. A group's place is its number
// times 16 bytes from an address that is a multiple of 16.
#ifndef VERNIER_WORDS_H
#define VERNIER_WORDS_H

typedef float number_f32;
typedef bf16 number_bf16;
#define WIDTH_f32 4
#define WIDTH_bf16 8

FN float get_f32(const float *p, long i) { return p[i]; }
FN float get_bf16(const bf16 *p, long i) { return widen(p[i]); }
FN void put_f32(float *p, long i, float v) { p[i] = v; }
FN void put_bf16(bf16 *p, long i, float v) { p[i] = narrow(v); }

// unpack and pack turn words into numbers and back.
FN void unpack_f32(float *v, words w) {
	UNROLL for (int j = 0; j < 4; j++) v[j] = floatOf(w[j]);
}
FN void unpack_bf16(float *v, words w) {
	UNROLL for (int j = 0; j < 4; j++) v[2 * j] = floatOf(w[j] << 16), v[2 * j + 1] = floatOf(w[j] & 0xffff0000u);
}
FN words pack_f32(const float *v) {
	words w = {bitsOf(v[0]), bitsOf(v[1]), bitsOf(v[2]), bitsOf(v[3])};
	return w;
}
FN unsigned halves(float low, float high) { return narrow(low) | (unsigned)narrow(high) << 16; }
FN words pack_bf16(const float *v) {
	words w = {halves(v[0], v[1]), halves(v[2], v[3]), halves(v[4], v[5]), halves(v[6], v[7])};
	return w;
}

// floats and putFloats read and write as many float32 numbers as a group has.
FN void floats_f32(float *v, const float *p, unsigned g) { unpack_f32(v, ((const words *)p)[g]); }
FN void floats_bf16(float *v, const float *p, unsigned g) {
	unpack_f32(v, ((const words *)p)[2 * g]);
	unpack_f32(v + 4, ((const words *)p)[2 * g + 1]);
}
FN void putFloats_f32(float *p, unsigned g, const float *v) { ((words *)p)[g] = pack_f32(v); }
FN void putFloats_bf16(float *p, unsigned g, const float *v) {
	((words *)p)[2 * g] = pack_f32(v);
	((words *)p)[2 * g + 1] = pack_f32(v + 4);
}

#endif
