// Kernels of pooling, one for each way to store a map.
#include "target.h"
#include "functions.h"
#define KERNELS "pool.h"
#include "typed.h"
