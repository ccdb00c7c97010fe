// The header KERNELS once for each way to store a map: STORAGE, a type T with GET
// and PUT; of the WIDTH numbers in words, ELEMENT and SET are one.
#define NAME(f) GLUE(f, STORAGE)
#define STORAGE f32
#define T float
#define GET(p, i) ((p)[i])
#define PUT(p, i, v) ((p)[i] = (v))
#define WIDTH 4
#define ELEMENT(w, j) floatOf((w)[j])
#define SET(w, j, v) ((w)[j] = bitsOf(v))
#include KERNELS
#undef NAME
#undef STORAGE
#undef T
#undef GET
#undef PUT
#undef WIDTH
#undef ELEMENT
#undef SET

#define NAME(f) GLUE(f, STORAGE)
#define STORAGE bf16
#define T bf16
#define GET(p, i) widen((p)[i])
#define PUT(p, i, v) ((p)[i] = narrow(v))
#define WIDTH 8
#define ELEMENT(w, j) floatOf((j) & 1 ? (w)[(j) / 2] & 0xffff0000u : (w)[(j) / 2] << 16)
#define SET(w, j, v) ((w)[(j) / 2] = (j) & 1 ? (w)[(j) / 2] | (unsigned)narrow(v) << 16 : narrow(v))
#include KERNELS
#undef NAME
#undef STORAGE
#undef T
#undef GET
#undef PUT
#undef WIDTH
#undef ELEMENT
#undef SET
#undef KERNELS
