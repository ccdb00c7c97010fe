// The header KERNELS once for each way to store a map: STORAGE, a type T with GET
// and PUT.
#define NAME(f) GLUE(f, STORAGE)
#define STORAGE f32
#define T float
#define GET(p, i) ((p)[i])
#define PUT(p, i, v) ((p)[i] = (v))
#include KERNELS
#undef NAME
#undef STORAGE
#undef T
#undef GET
#undef PUT

#define NAME(f) GLUE(f, STORAGE)
#define STORAGE bf16
#define T bf16
#define GET(p, i) widen((p)[i])
#define PUT(p, i, v) ((p)[i] = narrow(v))
#include KERNELS
#undef NAME
#undef STORAGE
#undef T
#undef GET
#undef PUT
#undef KERNELS
