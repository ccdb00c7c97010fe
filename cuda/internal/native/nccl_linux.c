//go:build cgo

#include "vernier_nccl.h"

static const char *const names[] = {VERNIER_NCCL(VERNIER_NAME)};

const char *const *vernier_nccl_names(int *count) {
    *count = sizeof names / sizeof *names;
    return names;
}

int vernier_nccl_version(const nccl_table *t, int *version) { return t->ncclGetVersion(version); }

const char *vernier_nccl_status(const nccl_table *t, int status) { return t->ncclGetErrorString(status); }

const char *vernier_nccl_last(const nccl_table *t, void *comm) { return t->ncclGetLastError(comm); }

int vernier_nccl_id(const nccl_table *t, nccl_id *id) { return t->ncclGetUniqueId(id); }

int vernier_nccl_join(const nccl_table *t, void **comm, int size, const nccl_id *id, int rank) {
    return t->ncclCommInitRank(comm, size, *id, rank);
}

int vernier_nccl_leave(const nccl_table *t, void *comm) { return t->ncclCommDestroy(comm); }

int vernier_nccl_abort(const nccl_table *t, void *comm) { return t->ncclCommAbort(comm); }

int vernier_nccl_since(const nccl_table *t, void *comm) {
    int since = 0, status = t->ncclCommGetAsyncError(comm, &since);
    if (status) return status;
    return since == NCCL_IN_PROGRESS ? 0 : since;
}

int vernier_nccl_sum(const nccl_table *t, void *comm, const size_t *x, const size_t *n, int count, size_t stream) {
    int status = t->ncclGroupStart();
    if (status) return status;
    for (int i = 0; i < count && !status; i++)
        status = t->ncclAllReduce((const void *)x[i], (void *)x[i], n[i], NCCL_FLOAT32, NCCL_SUM, comm, (void *)stream);
    int end = t->ncclGroupEnd(); /* a group that was begun is closed, whatever happened in it */
    return status ? status : end;
}

int vernier_nccl_gather(const nccl_table *t, void *comm, size_t y, size_t x, size_t n, size_t stream) {
    return t->ncclAllGather((const void *)x, (void *)y, n, NCCL_FLOAT32, comm, (void *)stream);
}
