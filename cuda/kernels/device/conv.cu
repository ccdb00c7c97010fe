// Kernels of convolutions that cuDNN refuses, one for each way to store a map.
#include "target.h"
#include "functions.h"
#define KERNELS "conv.h"
#include "typed.h"
