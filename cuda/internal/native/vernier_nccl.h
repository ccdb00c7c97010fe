/* The functions of NCCL (2.14 and later) that are used, and their constants. */
#ifndef VERNIER_NCCL_H
#define VERNIER_NCCL_H

#include <stddef.h>

#include "vernier_library.h"

/* By which the ranks of a group find each other. It is passed by value. */
typedef struct {
    char bytes[128];
} nccl_id;

#define VERNIER_NCCL(X)                                                                                          \
    X(int, ncclGetVersion, (int *version))                                                                       \
    X(const char *, ncclGetErrorString, (int status))                                                            \
    X(const char *, ncclGetLastError, (void *comm))                                                              \
    X(int, ncclGetUniqueId, (nccl_id * id))                                                                      \
    X(int, ncclCommInitRank, (void **comm, int size, nccl_id id, int rank))                                      \
    X(int, ncclCommDestroy, (void *comm))                                                                        \
    X(int, ncclCommAbort, (void *comm))                                                                          \
    X(int, ncclCommGetAsyncError, (void *comm, int *status))                                                     \
    X(int, ncclAllReduce, (const void *x, void *y, size_t n, int type, int op, void *comm, void *stream))        \
    X(int, ncclAllGather, (const void *x, void *y, size_t n, int type, void *comm, void *stream))                \
    X(int, ncclGroupStart, (void))                                                                               \
    X(int, ncclGroupEnd, (void))

typedef struct { VERNIER_NCCL(VERNIER_SLOT) } nccl_table;

enum { NCCL_FLOAT32 = 7 }; /* ncclDataType_t */
enum { NCCL_SUM = 0 };     /* ncclRedOp_t */
enum { NCCL_IN_PROGRESS = 7 };

const char *const *vernier_nccl_names(int *count);
int vernier_nccl_version(const nccl_table *t, int *version);
const char *vernier_nccl_status(const nccl_table *t, int status);
const char *vernier_nccl_last(const nccl_table *t, void *comm);
int vernier_nccl_id(const nccl_table *t, nccl_id *id);
int vernier_nccl_join(const nccl_table *t, void **comm, int size, const nccl_id *id, int rank);
int vernier_nccl_leave(const nccl_table *t, void *comm);
int vernier_nccl_abort(const nccl_table *t, void *comm);
/* What has gone wrong since, on this rank or another; 0 for nothing. */
int vernier_nccl_since(const nccl_table *t, void *comm);
/* Sums count arrays over the ranks, each n[i] numbers at x[i], in one launch. */
int vernier_nccl_sum(const nccl_table *t, void *comm, const size_t *x, const size_t *n, int count, size_t stream);
/* Sets y to the n numbers at x of every rank, in their order. */
int vernier_nccl_gather(const nccl_table *t, void *comm, size_t y, size_t x, size_t n, size_t stream);

#endif
