// Kernels of attention in bfloat16 on tensor cores, for compute capability 8.0 and later.
#include "target.h"
#include "functions.h"
#include "words.h"
#include "fragments.h"
#include "flash.h"
