// Kernels of tokens of transformers, one for each way to store a map.
#include "target.h"
#include "functions.h"
#include "gelu.h"
#include "summed.h"

// warpSum is the sum over a warp, the same in all its threads. Every thread of the block
// calls it.
FN float warpSum(float v) {
	for (int d = 16; d; d >>= 1) v += shuffle(v, d);
	return v;
}

#define KERNELS "tokens.h"
#include "typed.h"
