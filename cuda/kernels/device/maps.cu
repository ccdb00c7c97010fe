// Kernels of maps: elementwise kernels, and those that move numbers between maps, one for each way to store a map.
#include "target.h"
#include "functions.h"
#include "gelu.h"
#define KERNELS "maps.h"
#include "typed.h"
