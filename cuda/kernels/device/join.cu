// Kernels that write channels of a larger map, one for each way to store a map.
#include "target.h"
#include "functions.h"
#define KERNELS "join.h"
#include "typed.h"
