// Kernels of attention between products of cuBLAS, one for each way to store tokens.
#include "target.h"
#include "functions.h"
#define KERNELS "rowattention.h"
#include "typed.h"
