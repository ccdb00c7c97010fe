// Kernels of rows: lengths, units, softmax and others.
#include "target.h"
#include "functions.h"
#include "rows.h"
