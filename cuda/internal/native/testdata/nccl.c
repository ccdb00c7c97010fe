/* An NCCL whose other ranks have the numbers of the one that asks. VERSION is its number,
 * WITHOUT_GATHER another library, BROKEN has lost rank 1. It looks at all 128 bytes of an id. */
#include <stdio.h>
#include <string.h>

#include "vernier_nccl.h"

#ifndef VERSION
#define VERSION 22703
#endif

typedef struct {
    int rank, size;
} member;

static member members[8];
int live, groups; /* members, and groups of calls that are open */

int ncclGetVersion(int *version) { *version = VERSION; return 0; }
const char *ncclGetErrorString(int status) { return status == 4 ? "invalid argument" : status == 6 ? "remote process exited or there was a network error" : "unknown"; }
const char *ncclGetLastError(void *comm) { return comm ? "rank 1 is gone" : ""; }
int ncclGetUniqueId(nccl_id *id) {
    for (int i = 0; i < 128; i++) id->bytes[i] = (char)(7 * i + 1);
    return 0;
}
int ncclCommInitRank(void **comm, int size, nccl_id id, int rank) {
    for (int i = 0; i < 128; i++)
        if (id.bytes[i] != (char)(7 * i + 1)) return 4;
    if (size < 1 || size > 8 || rank < 0 || rank >= size) return 4;
    members[rank] = (member){rank, size};
    *comm = &members[rank];
    live++;
    return 0;
}
int ncclCommDestroy(void *comm) { live--; return comm ? 0 : 4; }
int ncclCommAbort(void *comm) { live--; return comm ? 0 : 4; }
int ncclCommGetAsyncError(void *comm, int *status) {
#ifdef BROKEN
    *status = 6;
#else
    *status = 0;
#endif
    return comm ? 0 : 4;
}
int ncclGroupStart(void) { return groups++ ? 5 : 0; }
int ncclGroupEnd(void) { return --groups ? 5 : 0; }
int ncclAllReduce(const void *x, void *y, size_t n, int type, int op, void *comm, void *stream) {
    member *m = comm;
    if (!m || x != y || type != NCCL_FLOAT32 || op != NCCL_SUM || stream != (void *)7 || groups != 1) return 4;
#ifdef BROKEN
    return 6;
#endif
    for (size_t i = 0; i < n; i++) ((float *)y)[i] *= m->size; /* as if all ranks had the same */
    return 0;
}
#ifndef WITHOUT_GATHER
int ncclAllGather(const void *x, void *y, size_t n, int type, void *comm, void *stream) {
    member *m = comm;
    if (!m || type != NCCL_FLOAT32 || stream != (void *)7 || groups) return 4;
    for (int rank = 0; rank < m->size; rank++) memcpy((float *)y + rank * n, x, n * sizeof(float));
    return 0;
}
#endif
