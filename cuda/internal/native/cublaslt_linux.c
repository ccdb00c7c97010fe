//go:build cgo

#include <string.h>

#include "vernier_cublaslt.h"

static const char *const names[] = {VERNIER_CUBLASLT(VERNIER_NAME)};

const char *const *vernier_cublaslt_names(int *count) {
    *count = sizeof names / sizeof *names;
    return names;
}

int vernier_cublaslt_create(const cublaslt_table *t, void **handle) { return t->cublasLtCreate(handle); }

int vernier_cublaslt_destroy(const cublaslt_table *t, void *handle) { return t->cublasLtDestroy(handle); }

static int describe(const cublaslt_table *t, const vernier_gemm *g, int with, lt_plan *plan) {
    int status = t->cublasLtMatmulDescCreate(&plan->desc, g->compute, CUDA_32F);
    uint32_t epilogue = with;
    /* A planned algorithm serves every bias that is aligned as this address is. */
    void *bias = (void *)(size_t)LT_ALIGNMENT;
    int32_t transa = g->transa, transb = g->transb;
    if (!status) status = t->cublasLtMatmulDescSetAttribute(plan->desc, LT_TRANSA, &transa, sizeof transa);
    if (!status) status = t->cublasLtMatmulDescSetAttribute(plan->desc, LT_TRANSB, &transb, sizeof transb);
    if (!status) status = t->cublasLtMatmulDescSetAttribute(plan->desc, LT_EPILOGUE, &epilogue, sizeof epilogue);
    if (!status) status = t->cublasLtMatmulDescSetAttribute(plan->desc, LT_BIAS_POINTER, &bias, sizeof bias);
    if (!status) status = t->cublasLtMatrixLayoutCreate(&plan->a, g->type, g->transa ? g->k : g->m, g->transa ? g->m : g->k, g->lda);
    if (!status) status = t->cublasLtMatrixLayoutCreate(&plan->b, g->type, g->transb ? g->n : g->k, g->transb ? g->k : g->n, g->ldb);
    if (!status) status = t->cublasLtMatrixLayoutCreate(&plan->c, g->out, g->m, g->n, g->ldc);
    return status;
}

static int choose(const cublaslt_table *t, void *handle, size_t limit, lt_plan *plan) {
    void *preference = NULL;
    lt_result result;
    int found = 0, status = t->cublasLtMatmulPreferenceCreate(&preference);
    uint64_t most = limit;
    uint32_t alignment = LT_ALIGNMENT;
    memset(&result, 0, sizeof result);
    if (!status) status = t->cublasLtMatmulPreferenceSetAttribute(preference, LT_MAX_WORKSPACE, &most, sizeof most);
    for (int i = LT_ALIGNMENT_A; !status && i <= LT_ALIGNMENT_D; i++)
        status = t->cublasLtMatmulPreferenceSetAttribute(preference, i, &alignment, sizeof alignment);
    if (!status) status = t->cublasLtMatmulAlgoGetHeuristic(handle, plan->desc, plan->a, plan->b, plan->c, plan->c, preference, 1, &result, &found);
    if (!status && found < 1) status = LT_NO_ALGORITHM;
    if (!status) status = result.state;
    if (!status && result.workspace > limit) status = LT_NO_ALGORITHM;
    memcpy(plan->algo, result.algo, sizeof plan->algo);
    if (preference) t->cublasLtMatmulPreferenceDestroy(preference);
    return status;
}

int vernier_cublaslt_plan(const cublaslt_table *t, void *handle, const vernier_gemm *g, int epilogue, size_t limit,
                          lt_plan *plan) {
    memset(plan, 0, sizeof *plan);
    int status = describe(t, g, epilogue, plan);
    if (!status) status = choose(t, handle, limit, plan);
    if (status) vernier_cublaslt_forget(t, plan);
    return status;
}

void vernier_cublaslt_forget(const cublaslt_table *t, lt_plan *plan) {
    if (plan->desc) t->cublasLtMatmulDescDestroy(plan->desc);
    if (plan->a) t->cublasLtMatrixLayoutDestroy(plan->a);
    if (plan->b) t->cublasLtMatrixLayoutDestroy(plan->b);
    if (plan->c) t->cublasLtMatrixLayoutDestroy(plan->c);
    memset(plan, 0, sizeof *plan);
}

int vernier_cublaslt_run(const cublaslt_table *t, void *handle, const lt_plan *plan, const vernier_gemm *g, size_t bias,
                         size_t workspace, size_t bytes, size_t stream) {
    void *at = (void *)bias;
    const void *c = (const void *)(g->residual ? g->residual : g->c);
    int status = t->cublasLtMatmulDescSetAttribute(plan->desc, LT_BIAS_POINTER, &at, sizeof at);
    if (status) return status;
    return t->cublasLtMatmul(handle, plan->desc, &g->alpha, (const void *)g->a, plan->a, (const void *)g->b, plan->b,
                             &g->beta, c, plan->c, (void *)g->c, plan->c, plan->algo,
                             (void *)workspace, bytes, (void *)stream);
}
