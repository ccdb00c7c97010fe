// The pairwise kernels of every restriction, at one power.
#define METRIC sigmoid
#include "pairs.h"
#undef METRIC
#define METRIC softsign
#include "pairs.h"
#undef METRIC
#define METRIC arctan
#include "pairs.h"
#undef METRIC
#define METRIC tanh
#include "pairs.h"
#undef METRIC
#define METRIC isru
#include "pairs.h"
#undef METRIC
