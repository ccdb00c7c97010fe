// The kernels of the GPU engine but for the pairwise ones. go generate compiles
// it to kernels.ptx; the host model of ../host includes it as plain C.
#include "target.h"
#include "functions.h"

#define STORAGE f32
#define T float
#define GET(p, i) ((p)[i])
#define PUT(p, i, v) ((p)[i] = (v))
#include "typed.h"

#define STORAGE bf16
#define T bf16
#define GET(p, i) widen((p)[i])
#define PUT(p, i, v) ((p)[i] = narrow(v))
#include "typed.h"

#include "rows.h"
#include "reduce.h"
#include "update.h"
#include "losses.h"
#include "wide.h"
#include "chords.h"
#include "search.h"
