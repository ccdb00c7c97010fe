// The header KERNELS once for each way to store a map: STORAGE, a type T of which GET
// and PUT read and write a number, and READ and WRITE the WIDTH numbers of a group
// (words.h). READ_FLOATS and WRITE_FLOATS do so for as many numbers that are float32 always.
#include "words.h"

#define NAME(f) GLUE(f, STORAGE)
#define T GLUE(number, STORAGE)
#define WIDTH GLUE(WIDTH, STORAGE)
#define GET(p, i) GLUE(get, STORAGE)(p, i)
#define PUT(p, i, v) GLUE(put, STORAGE)(p, i, v)
#define READ(v, p, g) GLUE(unpack, STORAGE)(v, ((const words *)(p))[g])
#define WRITE(p, g, v) ((words *)(p))[g] = GLUE(pack, STORAGE)(v)
#define READ_FLOATS(v, p, g) GLUE(floats, STORAGE)(v, p, g)
#define WRITE_FLOATS(p, g, v) GLUE(putFloats, STORAGE)(p, g, v)

// WHOLE is how many of n numbers go in groups, where all arrays are: the addresses
// or'ed together are places. The rest go one by one. ROWS is that for n numbers in
// rows of c, of which a group may not have two.
#define WHOLE(n, places) ((places) & 15 ? 0 : (n) / WIDTH * WIDTH)
#define ROWS(n, c, places) ((places) & 15 || (c) % WIDTH ? 0 : (n))

#define STORAGE f32
#include KERNELS
#undef STORAGE
#define STORAGE bf16
#include KERNELS
#undef STORAGE

#undef NAME
#undef T
#undef WIDTH
#undef GET
#undef PUT
#undef READ
#undef WRITE
#undef READ_FLOATS
#undef WRITE_FLOATS
#undef WHOLE
#undef ROWS
#undef KERNELS
