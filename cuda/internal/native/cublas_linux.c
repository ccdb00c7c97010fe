//go:build cgo

#include "vernier_cublas.h"

static const char *const names[] = {VERNIER_CUBLAS(VERNIER_NAME)};

const char *const *vernier_cublas_names(int *count) {
    *count = sizeof names / sizeof *names;
    return names;
}

int vernier_cublas_gemm(const cublas_table *t, void *handle, const vernier_gemm *g) {
    if (g->addresses)
        return t->cublasGemmBatchedEx(handle, g->transa, g->transb, g->m, g->n, g->k, &g->alpha,
                                      (const void *const *)g->a, g->type, g->lda, (const void *const *)g->b, g->type,
                                      g->ldb, &g->beta, (void *const *)g->c, g->out, g->ldc, g->batch, g->compute,
                                      CUBLAS_GEMM_DEFAULT);
    if (g->batch > 1)
        return t->cublasGemmStridedBatchedEx(handle, g->transa, g->transb, g->m, g->n, g->k, &g->alpha,
                                             (const void *)g->a, g->type, g->lda, g->stride_a, (const void *)g->b,
                                             g->type, g->ldb, g->stride_b, &g->beta, (void *)g->c, g->out, g->ldc,
                                             g->stride_c, g->batch, g->compute, CUBLAS_GEMM_DEFAULT);
    return t->cublasGemmEx(handle, g->transa, g->transb, g->m, g->n, g->k, &g->alpha, (const void *)g->a, g->type,
                           g->lda, (const void *)g->b, g->type, g->ldb, &g->beta, (void *)g->c, g->out, g->ldc,
                           g->compute, CUBLAS_GEMM_DEFAULT);
}

int vernier_cublas_create(const cublas_table *t, void **handle, size_t stream) {
    int status = t->cublasCreate_v2(handle);
    if (status) return status;
    /* Once and for all: setting the stream takes back the workspace. */
    status = t->cublasSetStream_v2(*handle, (void *)stream);
    if (status) t->cublasDestroy_v2(*handle);
    return status;
}

int vernier_cublas_destroy(const cublas_table *t, void *handle) { return t->cublasDestroy_v2(handle); }

int vernier_cublas_property(const cublas_table *t, int type, int *value) { return t->cublasGetProperty(type, value); }

int vernier_cublas_workspace(const cublas_table *t, void *handle, size_t workspace, size_t bytes) {
    return t->cublasSetWorkspace_v2(handle, (void *)workspace, bytes);
}

const char *vernier_cublas_status(const cublas_table *t, int status) { return t->cublasGetStatusString(status); }
