// The kernels of attention for both widths of heads.
#undef NAME
#define NAME(f) GLUE(f, STORAGE)
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
#undef HEAD
#undef TILE
