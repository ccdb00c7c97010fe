// Kernels of attention, for heads of up to 64 and of up to 256 numbers, each with
// one for each way to store tokens.
#include "target.h"
#include "functions.h"
#define KERNELS "heads.h"
#include "typed.h"
