// The pairwise kernels, one for each restriction and power.
#include "target.h"
#include "functions.h"

#define CALL(what, t, w) CALL2(METRIC, what, t, w)
#define CALL2(m, what, t, w) CALL3(m, what, t, w)
#define CALL3(m, what, t, w) m##what(t, w)
#define NAME(f) GLUE(GLUE(f, METRIC), POWER)

#define P 1
#define POWER p1
#include "restrictions.h"
#define METRIC linear
#define LINEAR
#include "pairs.h"
#undef LINEAR
#undef METRIC
#undef POWER
#undef P

#define P 2
#define POWER p2
#include "restrictions.h"
#define METRIC linear
#define LINEAR
#include "pairs.h"
#undef LINEAR
#undef METRIC
#undef NAME
#undef CALL
#undef CALL2
#undef CALL3
