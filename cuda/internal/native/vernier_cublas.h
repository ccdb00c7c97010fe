/* The functions of cuBLAS that are used, and their constants. */
#ifndef VERNIER_CUBLAS_H
#define VERNIER_CUBLAS_H

#include "vernier_library.h"

#define VERNIER_CUBLAS(X)                                                                                          \
    X(int, cublasCreate_v2, (void **handle))                                                                       \
    X(int, cublasDestroy_v2, (void *handle))                                                                       \
    X(int, cublasGetVersion_v2, (void *handle, int *version))                                                      \
    X(int, cublasGetProperty, (int type, int *value))                                                              \
    X(int, cublasSetStream_v2, (void *handle, void *stream))                                                       \
    X(int, cublasSetWorkspace_v2, (void *handle, void *workspace, size_t bytes))                                   \
    X(const char *, cublasGetStatusString, (int status))                                                           \
    X(int, cublasGemmEx,                                                                                           \
      (void *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *a, int atype,     \
       int lda, const void *b, int btype, int ldb, const void *beta, void *c, int ctype, int ldc, int compute,     \
       int algo))                                                                                                  \
    X(int, cublasGemmStridedBatchedEx,                                                                             \
      (void *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *a, int atype,     \
       int lda, long long stride_a, const void *b, int btype, int ldb, long long stride_b, const void *beta,       \
       void *c, int ctype, int ldc, long long stride_c, int batch, int compute, int algo))                         \
    X(int, cublasGemmBatchedEx,                                                                                    \
      (void *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *const *a,         \
       int atype, int lda, const void *const *b, int btype, int ldb, const void *beta, void *const *c,            \
       int ctype, int ldc, int batch, int compute, int algo))

typedef struct { VERNIER_CUBLAS(VERNIER_SLOT) } cublas_table;

enum { CUBLAS_N = 0, CUBLAS_T = 1, CUBLAS_GEMM_DEFAULT = -1 }; /* cublasOperation_t, cublasGemmAlgo_t */
/* cublasComputeType_t and cudaDataType. */
enum { CUBLAS_32F = 68, CUBLAS_32F_FAST_TF32 = 77, CUDA_32F = 0, CUDA_16BF = 14 };
/* libraryPropertyType. */
enum { PROPERTY_MAJOR = 0, PROPERTY_MINOR = 1, PROPERTY_PATCH = 2 };

typedef struct {
    int transa, transb, m, n, k, lda, ldb, ldc, type, out, compute;
    size_t a, b, c;
    size_t residual; /* what beta multiplies; 0 for c; cuBLASLt alone has it */
    int batch;
    int addresses; /* a, b and c are arrays of addresses */
    long long stride_a, stride_b, stride_c;
    float alpha, beta;
} vernier_gemm;

const char *const *vernier_cublas_names(int *count);
/* A product of matrices that lie column after column. */
int vernier_cublas_gemm(const cublas_table *t, void *handle, const vernier_gemm *g);
/* Makes a handle whose work goes to one stream. */
int vernier_cublas_create(const cublas_table *t, void **handle, size_t stream);
int vernier_cublas_destroy(const cublas_table *t, void *handle);
int vernier_cublas_property(const cublas_table *t, int type, int *value);
int vernier_cublas_workspace(const cublas_table *t, void *handle, size_t workspace, size_t bytes);
const char *vernier_cublas_status(const cublas_table *t, int status);

#endif
