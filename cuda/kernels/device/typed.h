// The kernels that there is one of for each way to store a map: STORAGE, a type T
// with GET and PUT.
#define NAME(f) GLUE(f, STORAGE)
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
