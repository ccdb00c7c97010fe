/* A cuBLAS that multiplies on the host, slowly. MAJOR is its release. */
#include "vernier_cublas.h"

#ifndef MAJOR
#define MAJOR 13
#endif

static int set;
int cublasCreate_v2(void **handle) { *handle = &set; return 0; }
int cublasDestroy_v2(void *handle) { return 0; }
int cublasGetVersion_v2(void *handle, int *version) { *version = MAJOR * 10000; return 0; }
int cublasGetProperty(int type, int *value) { *value = type == PROPERTY_MAJOR ? MAJOR : type; return 0; }
int cublasSetStream_v2(void *handle, void *stream) { set = stream == (void *)7; return stream ? 0 : 7; }
int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes) { return bytes ? 0 : 7; }
const char *cublasGetStatusString(int status) { return status == 7 ? "CUBLAS_STATUS_INVALID_VALUE" : "unknown"; }
#ifndef WITHOUT_GEMM
/* Column after column, as cuBLAS has them. */
int cublasGemmEx(void *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *pa, int atype, int lda,
                 const void *pb, int btype, int ldb, const void *beta, void *pc, int ctype, int ldc, int compute, int algo) {
    const float *a = pa, *b = pb;
    float *c = pc;
    if (atype || btype || ctype || algo != -1 || (compute != CUBLAS_32F && compute != CUBLAS_32F_FAST_TF32)) return 7;
    if (lda < (transa ? k : m) || ldb < (transb ? n : k) || ldc < m) return 7;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int l = 0; l < k; l++) sum += (transa ? a[i * lda + l] : a[l * lda + i]) * (transb ? b[l * ldb + j] : b[j * ldb + l]);
            c[j * ldc + i] = *(const float *)alpha * sum + (*(const float *)beta ? *(const float *)beta * c[j * ldc + i] : 0);
        }
    return 0;
}
int cublasGemmStridedBatchedEx(void *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *pa, int atype, int lda,
                               long long sa, const void *pb, int btype, int ldb, long long sb, const void *beta, void *pc, int ctype, int ldc,
                               long long sc, int batch, int compute, int algo) {
    for (int i = 0; i < batch; i++) {
        int status = cublasGemmEx(handle, transa, transb, m, n, k, alpha, (const float *)pa + i * sa, atype, lda, (const float *)pb + i * sb, btype,
                                  ldb, beta, (float *)pc + i * sc, ctype, ldc, compute, algo);
        if (status) return status;
    }
    return 0;
}
int cublasGemmBatchedEx(void *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *const pa[], int atype, int lda,
                        const void *const pb[], int btype, int ldb, const void *beta, void *const pc[], int ctype, int ldc, int batch, int compute,
                        int algo) {
    for (int i = 0; i < batch; i++) {
        int status = cublasGemmEx(handle, transa, transb, m, n, k, alpha, pa[i], atype, lda, pb[i], btype, ldb, beta, pc[i], ctype, ldc, compute, algo);
        if (status) return status;
    }
    return 0;
}
#endif
