/* A cuBLASLt that multiplies on the host and adds a bias, or sums columns of the second factor. WITHOUT_BIAS has no
 * algorithm for it, REFUSING takes it back when it is to run, WITHOUT_MATMUL is
 * another library. live counts what has been created and not destroyed. */
#include <stdlib.h>
#include <string.h>

#include "vernier_cublaslt.h"

typedef struct {
    int compute, transa, transb, epilogue;
    float *bias;
} description;
typedef struct {
    int type;
    long rows, cols, ld;
} layout;
typedef struct {
    size_t workspace;
    unsigned alignment[4];
} preference;

int live, planned;
static void *make(size_t bytes) { live++; return calloc(1, bytes); }
static int drop(void *p) { live--; free(p); return p ? 0 : 7; }

int cublasLtCreate(void **handle) { *handle = make(1); return 0; }
int cublasLtDestroy(void *handle) { return drop(handle); }
int cublasLtMatmulDescCreate(void **d, int compute, int scale) {
    description *p = *d = make(sizeof *p);
    p->compute = compute;
    return scale == CUDA_32F && (compute == CUBLAS_32F || compute == CUBLAS_32F_FAST_TF32) ? 0 : 7;
}
int cublasLtMatmulDescDestroy(void *d) { return drop(d); }
int cublasLtMatmulDescSetAttribute(void *d, int attribute, const void *value, size_t bytes) {
    description *p = d;
    void *to = attribute == LT_TRANSA ? (void *)&p->transa : attribute == LT_TRANSB ? (void *)&p->transb : attribute == LT_EPILOGUE ? (void *)&p->epilogue : attribute == LT_BIAS_POINTER ? (void *)&p->bias : NULL;
    if (!to || bytes != (attribute == LT_BIAS_POINTER ? 8 : 4)) return 7;
    memcpy(to, value, bytes);
    return 0;
}
int cublasLtMatrixLayoutCreate(void **l, int type, uint64_t rows, uint64_t cols, int64_t ld) {
    layout *p = *l = make(sizeof *p);
    *p = (layout){type, rows, cols, ld};
    return ld >= (int64_t)rows ? 0 : 7;
}
int cublasLtMatrixLayoutDestroy(void *l) { return drop(l); }
int cublasLtMatmulPreferenceCreate(void **p) { *p = make(sizeof(preference)); return 0; }
int cublasLtMatmulPreferenceDestroy(void *p) { return drop(p); }
int cublasLtMatmulPreferenceSetAttribute(void *q, int attribute, const void *value, size_t bytes) {
    preference *p = q;
    if (attribute == LT_MAX_WORKSPACE && bytes == 8) return memcpy(&p->workspace, value, 8), 0;
    if (attribute < LT_ALIGNMENT_A || attribute > LT_ALIGNMENT_D || bytes != 4) return 7;
    return memcpy(&p->alignment[attribute - LT_ALIGNMENT_A], value, 4), 0;
}
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *d, void *a, void *b, void *c, void *e, void *q, int most, void *results, int *found) {
    description *p = d;
    preference *want = q;
    lt_result *r = results;
    for (int i = 0; i < 4; i++)
        if (want->alignment[i] != 16) return 7;
    if ((p->epilogue != LT_EPILOGUE_BIAS && p->epilogue != LT_EPILOGUE_BGRADB) || (size_t)p->bias != 16 || c != e || most != 1) return 7;
    planned++;
#ifdef WITHOUT_BIAS
    *found = 0;
    return 0;
#endif
    *found = 1;
    r->algo[3] = 77;
    r->workspace = want->workspace / 2;
    return 0;
}
#ifndef WITHOUT_MATMUL
int cublasLtMatmul(void *handle, void *d, const void *alpha, const void *pa, void *la, const void *pb, void *lb, const void *beta, const void *pc,
                   void *lc, void *pd, void *ld, const void *algo, void *workspace, size_t bytes, void *stream) {
    const description *p = d;
    const layout *x = la, *y = lb, *z = lc;
    const float *a = pa, *b = pb, *before = pc;
    float *c = pd;
    if (lc != ld || ((const uint64_t *)algo)[3] != 77 || !workspace || bytes < 1 || stream != (void *)7) return 7;
#ifdef REFUSING
    return 15;
#endif
    long m = z->rows, n = z->cols, k = p->transa ? x->rows : x->cols;
    if ((p->transa ? x->cols : x->rows) != m || (p->transb ? y->rows : y->cols) != n || (p->transb ? y->cols : y->rows) != k) return 7;
    int adds = p->epilogue == LT_EPILOGUE_BIAS;
    for (long j = 0; j < n && !adds; j++) {
        p->bias[j] = 0;
        for (long l = 0; l < k; l++) p->bias[j] += p->transb ? b[l * y->ld + j] : b[j * y->ld + l];
    }
    for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++) {
            float sum = 0;
            for (long l = 0; l < k; l++) sum += (p->transa ? a[i * x->ld + l] : a[l * x->ld + i]) * (p->transb ? b[l * y->ld + j] : b[j * y->ld + l]);
            c[j * z->ld + i] = *(const float *)alpha * sum + (adds ? p->bias[i] : 0) + (*(const float *)beta ? *(const float *)beta * before[j * z->ld + i] : 0);
        }
    return 0;
}
#endif
