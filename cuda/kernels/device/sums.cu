// Kernels of sums over the rows of maps, one for each way to store a map.
#include "target.h"
#include "functions.h"
#include "summed.h"
#define KERNELS "sums.h"
#include "typed.h"
