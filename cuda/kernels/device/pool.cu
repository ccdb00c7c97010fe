// Kernels of pooling, one for each way to store a map.
#include "target.h"
#include "functions.h"

// Places in windows are 16 bits; PLACES are those of a group of channels.
typedef unsigned short u16;
typedef unsigned places_f32 __attribute__((vector_size(8), may_alias));
typedef unsigned places_bf16 __attribute__((vector_size(16), may_alias));
#define PLACES GLUE(places, STORAGE)

#define KERNELS "pool.h"
#include "typed.h"
#undef PLACES
