// The kernels of the GPU engine but for the pairwise ones. go generate compiles
// it to kernels.ptx; the host model of ../host includes it as plain C.
#include "target.h"
#include "functions.h"

#define STORAGE f32
#define NAME(f) GLUE(f, f32)
#define T float
#define GET(p, i) ((p)[i])
#define PUT(p, i, v) ((p)[i] = (v))
#include "maps.h"
#include "sums.h"
#include "pool.h"
#include "conv.h"
#include "tokens.h"
#define HEAD 64
#define TILE 32
#include "attention.h"
#undef NAME
#undef HEAD
#undef TILE
#define NAME(f) GLUE(GLUE(f, wide), STORAGE)
#define HEAD 256
#define TILE 8
#include "attention.h"
#undef NAME
#undef HEAD
#undef TILE
#undef STORAGE
#undef T
#undef GET
#undef PUT

#define STORAGE bf16
#define NAME(f) GLUE(f, bf16)
#define T bf16
#define GET(p, i) widen((p)[i])
#define PUT(p, i, v) ((p)[i] = narrow(v))
#include "maps.h"
#include "sums.h"
#include "pool.h"
#include "conv.h"
#include "tokens.h"
#define HEAD 64
#define TILE 32
#include "attention.h"
#undef NAME
#undef HEAD
#undef TILE
#define NAME(f) GLUE(GLUE(f, wide), STORAGE)
#define HEAD 256
#define TILE 8
#include "attention.h"
#undef NAME
#undef HEAD
#undef TILE
#undef STORAGE
#undef T
#undef GET
#undef PUT

#include "rows.h"
#include "reduce.h"
#include "update.h"
#include "losses.h"
