// Kernels of clipping and of optimizers.
#include "target.h"
#include "functions.h"
#include "update.h"
