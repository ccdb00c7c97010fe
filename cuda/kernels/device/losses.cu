// Kernels of losses over class rows.
#include "target.h"
#include "functions.h"
#include "losses.h"
