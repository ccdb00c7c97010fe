/* The functions of cuBLASLt that are used, and their constants. */
#ifndef VERNIER_CUBLASLT_H
#define VERNIER_CUBLASLT_H

#include <stdint.h>

#include "vernier_cublas.h"

#define VERNIER_CUBLASLT(X)                                                                                            \
    X(int, cublasLtCreate, (void **handle))                                                                            \
    X(int, cublasLtDestroy, (void *handle))                                                                            \
    X(int, cublasLtMatmulDescCreate, (void **desc, int compute, int scale))                                            \
    X(int, cublasLtMatmulDescDestroy, (void *desc))                                                                    \
    X(int, cublasLtMatmulDescSetAttribute, (void *desc, int attribute, const void *value, size_t bytes))               \
    X(int, cublasLtMatrixLayoutCreate, (void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld))            \
    X(int, cublasLtMatrixLayoutDestroy, (void *layout))                                                                \
    X(int, cublasLtMatmulPreferenceCreate, (void **preference))                                                        \
    X(int, cublasLtMatmulPreferenceDestroy, (void *preference))                                                        \
    X(int, cublasLtMatmulPreferenceSetAttribute, (void *preference, int attribute, const void *value, size_t bytes))   \
    X(int, cublasLtMatmulAlgoGetHeuristic,                                                                             \
      (void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int most, void *results,        \
       int *found))                                                                                                    \
    X(int, cublasLtMatmul,                                                                                             \
      (void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout,      \
       const void *beta, const void *c, void *c_layout, void *d, void *d_layout, const void *algo, void *workspace,    \
       size_t workspace_bytes, void *stream))

typedef struct { VERNIER_CUBLASLT(VERNIER_SLOT) } cublaslt_table;

enum { LT_TRANSA = 3, LT_TRANSB = 4, LT_EPILOGUE = 7, LT_BIAS_POINTER = 8 };  /* cublasLtMatmulDescAttributes_t */
enum { LT_EPILOGUE_BIAS = 4, LT_EPILOGUE_BGRADB = 512 };                      /* cublasLtEpilogue_t */
enum { LT_MAX_WORKSPACE = 1, LT_ALIGNMENT_A = 5, LT_ALIGNMENT_D = 8 };        /* cublasLtMatmulPreferenceAttributes_t */
enum { LT_ALIGNMENT = 16, LT_NO_ALGORITHM = 15 /* CUBLAS_STATUS_NOT_SUPPORTED */ };

/* cublasLtMatmulHeuristicResult_t. */
typedef struct {
    uint64_t algo[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} lt_result;

/* A product that has been planned: what describes it, and the algorithm. */
typedef struct {
    void *desc, *a, *b, *c;
    uint64_t algo[8];
} lt_plan;

const char *const *vernier_cublaslt_names(int *count);
int vernier_cublaslt_create(const cublaslt_table *t, void **handle);
int vernier_cublaslt_destroy(const cublaslt_table *t, void *handle);
/* Plans g, with an epilogue, for memory that is aligned to LT_ALIGNMENT bytes. */
int vernier_cublaslt_plan(const cublaslt_table *t, void *handle, const vernier_gemm *g, int epilogue, size_t limit,
                          lt_plan *plan);
void vernier_cublaslt_forget(const cublaslt_table *t, lt_plan *plan);
/* Computes it. bias has g->m numbers of C's type, one for each of its rows, or receives g->n, the sums of the columns
 * of op(B). */
int vernier_cublaslt_run(const cublaslt_table *t, void *handle, const lt_plan *plan, const vernier_gemm *g, size_t bias,
                         size_t workspace, size_t bytes, size_t stream);

#endif
