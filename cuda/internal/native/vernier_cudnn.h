/* The functions of cuDNN that are used, and their constants. They are those of
 * its older interface, which releases 8 and 9 both have. */
#ifndef VERNIER_CUDNN_H
#define VERNIER_CUDNN_H

#include "vernier_library.h"

/* cudnnConvolution*AlgoPerf_t, one layout for the three directions. */
typedef struct {
    int algorithm, status;
    float millis;
    size_t memory;
    int deterministic, math, reserved[3];
} cudnn_perf;

/* The arguments of a search and of a run differ only in the kind of each
 * descriptor, which is a pointer. */
#define VERNIER_FIND                                                                                               \
    (void *handle, void *d1, const void *p1, void *d2, const void *p2, void *conv, void *d3, void *p3, int want,   \
     int *got, cudnn_perf *results, void *workspace, size_t bytes)
#define VERNIER_GET                                                                                                \
    (void *handle, void *d1, void *d2, void *conv, void *d3, int want, int *got, cudnn_perf *results)
#define VERNIER_RUN                                                                                                \
    (void *handle, const void *alpha, void *d1, const void *p1, void *d2, const void *p2, void *conv, int algo,    \
     void *workspace, size_t bytes, const void *beta, void *d3, void *p3)

#define VERNIER_CUDNN(X)                                                                                           \
    X(size_t, cudnnGetVersion, (void))                                                                             \
    X(size_t, cudnnGetCudartVersion, (void))                                                                       \
    X(const char *, cudnnGetErrorString, (int status))                                                             \
    X(int, cudnnCreate, (void **handle))                                                                           \
    X(int, cudnnDestroy, (void *handle))                                                                           \
    X(int, cudnnSetStream, (void *handle, void *stream))                                                           \
    X(int, cudnnCreateTensorDescriptor, (void **d))                                                                \
    X(int, cudnnSetTensor4dDescriptor, (void *d, int format, int type, int n, int c, int h, int w))                \
    X(int, cudnnDestroyTensorDescriptor, (void *d))                                                                \
    X(int, cudnnCreateFilterDescriptor, (void **d))                                                                \
    X(int, cudnnSetFilter4dDescriptor, (void *d, int type, int format, int k, int c, int h, int w))                \
    X(int, cudnnDestroyFilterDescriptor, (void *d))                                                                \
    X(int, cudnnCreateConvolutionDescriptor, (void **d))                                                           \
    X(int, cudnnSetConvolution2dDescriptor,                                                                        \
      (void *d, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h, int dilation_w, int mode,        \
       int type))                                                                                                  \
    X(int, cudnnSetConvolutionGroupCount, (void *d, int groups))                                                   \
    X(int, cudnnSetConvolutionMathType, (void *d, int math))                                                       \
    X(int, cudnnDestroyConvolutionDescriptor, (void *d))                                                           \
    X(int, cudnnFindConvolutionForwardAlgorithmEx, VERNIER_FIND)                                                   \
    X(int, cudnnFindConvolutionBackwardDataAlgorithmEx, VERNIER_FIND)                                              \
    X(int, cudnnFindConvolutionBackwardFilterAlgorithmEx, VERNIER_FIND)                                            \
    X(int, cudnnGetConvolutionForwardAlgorithm_v7, VERNIER_GET)                                                    \
    X(int, cudnnGetConvolutionBackwardDataAlgorithm_v7, VERNIER_GET)                                               \
    X(int, cudnnGetConvolutionBackwardFilterAlgorithm_v7, VERNIER_GET)                                             \
    X(int, cudnnConvolutionForward, VERNIER_RUN)                                                                   \
    X(int, cudnnConvolutionBackwardData, VERNIER_RUN)                                                              \
    X(int, cudnnConvolutionBackwardFilter, VERNIER_RUN)

typedef struct { VERNIER_CUDNN(VERNIER_SLOT) } cudnn_table;

enum { CUDNN_NHWC = 1 };                              /* cudnnTensorFormat_t */
enum { CUDNN_FLOAT = 0, CUDNN_BFLOAT16 = 9 };         /* cudnnDataType_t */
enum { CUDNN_CROSS_CORRELATION = 1 };                 /* cudnnConvolutionMode_t */
enum { CUDNN_DEFAULT_MATH = 0, CUDNN_TENSOR_OP_MATH = 1, CUDNN_FMA_MATH = 3 }; /* cudnnMathType_t */
enum { CUDNN_DETERMINISTIC = 1 };                     /* cudnnDeterminism_t */
enum { CUDNN_ALGORITHMS = 16 };                       /* of one direction at most: one for each kind of arithmetic */

/* A convolution with its descriptors, of which w's is that of a filter. */
typedef struct {
    int n, c, h, w, k, r, s, ho, wo, pad_h, pad_w, stride_h, stride_w, groups, type, math;
    void *dx, *dw, *dy, *conv;
    int algorithm;
    size_t bytes;
} vernier_conv;

typedef struct {
    size_t x, w, y, workspace;
    float beta; /* what a run multiplies the tensor by that it adds its result to */
} vernier_operands;

const char *const *vernier_cudnn_names(int *count);

size_t vernier_cudnn_version(const cudnn_table *t);
size_t vernier_cudnn_cuda(const cudnn_table *t);
const char *vernier_cudnn_status(const cudnn_table *t, int status);
int vernier_cudnn_create(const cudnn_table *t, void **handle, size_t stream);
int vernier_cudnn_destroy(const cudnn_table *t, void *handle);
/* Makes and fills the descriptors of c; on failure none is left. */
int vernier_conv_describe(const cudnn_table *t, vernier_conv *c);
void vernier_conv_release(const cudnn_table *t, vernier_conv *c);
/* Tries every algorithm of a direction within limit bytes, fastest first. */
int vernier_conv_find(const cudnn_table *t, void *handle, int direction, const vernier_conv *c,
                      const vernier_operands *o, size_t limit, int *got, cudnn_perf results[CUDNN_ALGORITHMS]);
/* Lists every algorithm of a direction without trying any, the best by cuDNN's
 * own knowledge first: the same list each time. */
int vernier_conv_rank(const cudnn_table *t, void *handle, int direction, const vernier_conv *c, int *got,
                      cudnn_perf results[CUDNN_ALGORITHMS]);
int vernier_conv_choose(const cudnn_table *t, vernier_conv *c, const cudnn_perf *p);
int vernier_conv_run(const cudnn_table *t, void *handle, int direction, const vernier_conv *c,
                     const vernier_operands *o);

#endif
