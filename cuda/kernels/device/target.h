// One source, two targets. Compiled by clang for CUDA these names are the
// machine's own; compiled as plain C they are a model of it that runs one
// thread after the other (../host), so that the index arithmetic of every
// kernel, and whether its barriers suffice, is tested where there is no GPU.
//
// All kernels use one-dimensional blocks; the grid may have three dimensions.
#ifndef VERNIER_TARGET_H
#define VERNIER_TARGET_H

#define GLUE2(a, b) a##_##b
#define GLUE(a, b) GLUE2(a, b)

typedef unsigned short bf16; // the upper half of a float32
typedef unsigned char u8;
// words are the 16 bytes that a thread reads or writes at a time.
typedef unsigned words __attribute__((vector_size(16), may_alias));

#ifdef __CUDA__

// KERNEL takes the threads of a block and, where the assembler would rather spill
// than run fewer blocks, how many blocks a multiprocessor has to have room for.
#define KERNEL(name, ...) \
	extern "C" __attribute__((global)) __attribute__((launch_bounds(__VA_ARGS__))) void name
#define FN static inline __attribute__((device))
#define SHARED __attribute__((shared))
// UNROLL makes a loop straight code, so that arrays it indexes stay in registers.
#define UNROLL _Pragma("unroll")
#define UNROLL_4 _Pragma("unroll 4")
// ROLLED leaves a loop as it is.
#define ROLLED _Pragma("nounroll")

FN int threadOf(void) { return __nvvm_read_ptx_sreg_tid_x(); }
FN int threads(void) { return __nvvm_read_ptx_sreg_ntid_x(); }
FN int blockX(void) { return __nvvm_read_ptx_sreg_ctaid_x(); }
FN int blockY(void) { return __nvvm_read_ptx_sreg_ctaid_y(); }
FN int blockZ(void) { return __nvvm_read_ptx_sreg_ctaid_z(); }
FN int blocksX(void) { return __nvvm_read_ptx_sreg_nctaid_x(); }
#define SYNC() __syncthreads()
// shuffle gives the value of the thread whose number in the warp differs in
// the bits of mask. Every thread of the block calls it.
#define shuffle(v, mask) __nvvm_shfl_sync_bfly_f32(0xffffffffu, (v), (mask), 31)

FN float exp2Fast(float x) { return __nvvm_ex2_approx_f(x); }
FN float log2Fast(float x) { return __nvvm_lg2_approx_f(x); }
FN float reciprocal(float x) { return __nvvm_rcp_approx_ftz_f(x); }
FN float inverseRoot(float x) { return __nvvm_rsqrt_approx_f(x); }
FN float root(float x) { return __nvvm_sqrt_rn_f(x); }
FN float fused(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
FN unsigned bitsOf(float x) { return __nvvm_bitcast_f2i(x); }
FN float floatOf(unsigned b) { return __nvvm_bitcast_i2f(b); }
FN double wideRoot(double x) { return __nvvm_sqrt_rn_d(x); }
FN double wideFused(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
FN long wideBitsOf(double x) { return __nvvm_bitcast_d2ll(x); }
FN double wideOf(long b) { return __nvvm_bitcast_ll2d(b); }
FN void atomicMaximum(unsigned *p, unsigned v) {
	asm volatile("red.global.max.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
// atomicPlus adds to a number in global or shared memory and returns what it was.
FN int atomicPlus(int *p, int v) { return __nvvm_atom_add_gen_i(p, v); }

#else

#include <math.h>
#include <string.h>

#define KERNEL(name, ...) void name
#define FN static inline __attribute__((unused))
#define SHARED static
#define UNROLL
#define UNROLL_4
#define ROLLED

struct place {
	int thread, threads, x, y, z, blocksX;
};
extern struct place here;
void hostBarrier(int line);
float hostShuffle(float v, int mask, int line);

FN int threadOf(void) { return here.thread; }
FN int threads(void) { return here.threads; }
FN int blockX(void) { return here.x; }
FN int blockY(void) { return here.y; }
FN int blockZ(void) { return here.z; }
FN int blocksX(void) { return here.blocksX; }
#define SYNC() hostBarrier(__LINE__)
#define shuffle(v, mask) hostShuffle((v), (mask), __LINE__)

FN float exp2Fast(float x) { return exp2f(x); }
FN float log2Fast(float x) { return log2f(x); }
FN float reciprocal(float x) { return 1 / x; }
FN float inverseRoot(float x) { return 1 / sqrtf(x); }
FN float root(float x) { return sqrtf(x); }
FN float fused(float a, float b, float c) { return fmaf(a, b, c); }
FN unsigned bitsOf(float x) {
	unsigned b;
	memcpy(&b, &x, 4);
	return b;
}
FN float floatOf(unsigned b) {
	float x;
	memcpy(&x, &b, 4);
	return x;
}
FN double wideRoot(double x) { return sqrt(x); }
FN double wideFused(double a, double b, double c) { return fma(a, b, c); }
FN long wideBitsOf(double x) {
	long b;
	memcpy(&b, &x, 8);
	return b;
}
FN double wideOf(long b) {
	double x;
	memcpy(&x, &b, 8);
	return x;
}
FN void atomicMaximum(unsigned *p, unsigned v) {
	if (v > *p) *p = v;
}
FN int atomicPlus(int *p, int v) {
	int was = *p;
	*p += v;
	return was;
}

#endif

FN unsigned globalThread(void) { return (unsigned)blockX() * threads() + threadOf(); }
FN unsigned allThreads(void) { return (unsigned)blocksX() * threads(); }

// EACH runs its body for i in [0, n), spread over the grid. n is below 2^31
// (MostNumbers in Go): a division of 64 bits costs more than most bodies.
#define EACH(i, n) for (unsigned i = globalThread(); i < (unsigned)(n); i += allThreads())

FN float widen(bf16 x) { return floatOf((unsigned)x << 16); }
// narrow rounds to nearest, ties to even; NaN stays NaN.
FN bf16 narrow(float x) {
	unsigned b = bitsOf(x);
	if ((b & 0x7fffffffu) > 0x7f800000u) return (bf16)(b >> 16 | 0x40);
	return (bf16)((b + 0x7fffu + (b >> 16 & 1)) >> 16);
}

// Sums and maxima over the block, the same in every thread. box has room for
// 33 numbers, and is free again when they return. The number of threads is a
// multiple of 32.
#define BLOCK_REDUCE(name, join)                                     \
	FN float name(float v, float *box) {                             \
		for (int d = 16; d; d >>= 1) {                               \
			float o = shuffle(v, d);                                 \
			v = join(v, o);                                          \
		}                                                            \
		if (!(threadOf() & 31)) box[threadOf() >> 5] = v;            \
		SYNC();                                                      \
		v = box[0];                                                  \
		for (int i = 1; i < threads() >> 5; i++) v = join(v, box[i]); \
		SYNC();                                                      \
		return v;                                                    \
	}
#define PLUS(a, b) ((a) + (b))
// wideSum is the sum over a block of 256 threads in float64, the same in every
// thread. box has room for 256 numbers; a barrier has to come before it is used
// again.
FN double wideSum(double v, double *box) {
	box[threadOf()] = v;
	SYNC();
	for (int d = 128; d; d >>= 1) {
		if (threadOf() < d) box[threadOf()] += box[threadOf() + d];
		SYNC();
	}
	return box[0];
}
// A maximum that NaN wins.
#define LARGER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
BLOCK_REDUCE(blockSum, PLUS)
BLOCK_REDUCE(blockMax, LARGER)

#endif
