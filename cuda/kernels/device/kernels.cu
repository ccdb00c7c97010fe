// Every kernel of the GPU engine. go generate compiles it to kernels.ptx; the
// host model of ../host includes it as plain C.
#include "target.h"
#include "functions.h"

#define GLUE2(a, b) a##_##b
#define GLUE(a, b) GLUE2(a, b)

#define NAME(f) GLUE(f, f32)
#define T float
#define GET(p, i) ((p)[i])
#define PUT(p, i, v) ((p)[i] = (v))
#include "maps.h"
#include "sums.h"
#include "pool.h"
#include "tokens.h"
#include "attention.h"
#undef NAME
#undef T
#undef GET
#undef PUT

#define NAME(f) GLUE(f, bf16)
#define T bf16
#define GET(p, i) widen((p)[i])
#define PUT(p, i, v) ((p)[i] = narrow(v))
#include "maps.h"
#include "sums.h"
#include "pool.h"
#include "tokens.h"
#include "attention.h"
#undef NAME
#undef T
#undef GET
#undef PUT

#include "rows.h"
#include "reduce.h"
#include "update.h"

#define CALL(what, t, w) CALL2(METRIC, what, t, w)
#define CALL2(m, what, t, w) CALL3(m, what, t, w)
#define CALL3(m, what, t, w) m##what(t, w)
#define NAME(f) GLUE(GLUE(f, METRIC), POWER)

#define P 1
#define POWER p1
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
#undef POWER
#undef P

#define P 2
#define POWER p2
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
#define METRIC linear
#include "pairs.h"
#undef METRIC
