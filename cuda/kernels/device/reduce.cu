// Kernels that reduce and combine.
#include "target.h"
#include "functions.h"
#include "reduce.h"
