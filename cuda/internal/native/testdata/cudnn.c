/* A cuDNN that lists algorithms and remembers what it was told. VERSION and CUDA
 * are what it says of itself. Of the deterministic ones another is the fastest
 * each time that they are tried; of those that it lists untried the first cannot
 * run. In the environment FAKE_FIND is the status of a search, FAKE_ALGORITHM that of
 * every algorithm in its results, FAKE_DESCRIBE that of a description, FAKE_RUN that of a run. */
#include "vernier_cudnn.h"
#include <stdlib.h>

#ifndef VERSION
#define VERSION 90100
#endif
#ifndef CUDA
#define CUDA 13000
#endif

/* The status that the environment has for a step, 0 if it has none. */
static int bent(const char *step) {
    const char *v = getenv(step);
    return v ? atoi(v) : 0;
}

static struct descriptor { int kind, v[9]; } pool[64];
static int used, handle;
static int make(void **d, int kind) { *d = &pool[used % 64]; pool[used++ % 64].kind = kind; return 0; }
static int fill(void *d, int kind, int a, int b, int c, int e, int f, int g, int h, int i) {
    struct descriptor *p = d;
    int v[9] = {a, b, c, e, f, g, h, i, 0};
    for (int j = 0; j < 8; j++) p->v[j] = v[j];
    return p->kind == kind ? 0 : 3;
}

size_t cudnnGetVersion(void) { return VERSION; }
size_t cudnnGetCudartVersion(void) { return CUDA; }
const char *cudnnGetErrorString(int status) {
    switch (status) {
    case 2: return "CUDNN_STATUS_ALLOC_FAILED";
    case 3: return "CUDNN_STATUS_BAD_PARAM";
    case 9: return "CUDNN_STATUS_NOT_SUPPORTED";
    case 1002: return "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH";
    case 3000: return "CUDNN_STATUS_NOT_SUPPORTED";
    case 3001: return "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN";
    case 3005: return "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER";
    case 3007: return "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH";
    case 3008: return "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING";
    case 3009: return "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE";
    case 4004: return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    default: return "CUDNN_STATUS_EXECUTION_FAILED";
    }
}
int cudnnCreate(void **h) { *h = &handle; return 0; }
int cudnnDestroy(void *h) { return 0; }
int cudnnSetStream(void *h, void *stream) { return stream ? 0 : 3; }
int cudnnCreateTensorDescriptor(void **d) { return make(d, 1); }
int cudnnSetTensor4dDescriptor(void *d, int format, int type, int n, int c, int h, int w) { return format != CUDNN_NHWC ? 3 : fill(d, 1, type, n, c, h, w, 0, 0, 0); }
int cudnnDestroyTensorDescriptor(void *d) { return 0; }
int cudnnCreateFilterDescriptor(void **d) { return make(d, 2); }
int cudnnSetFilter4dDescriptor(void *d, int type, int format, int k, int c, int h, int w) { return format != CUDNN_NHWC ? 3 : fill(d, 2, type, k, c, h, w, 0, 0, 0); }
int cudnnDestroyFilterDescriptor(void *d) { return 0; }
int cudnnCreateConvolutionDescriptor(void **d) { return make(d, 3); }
int cudnnSetConvolution2dDescriptor(void *d, int ph, int pw, int sh, int sw, int dh, int dw, int mode, int type) { return bent("FAKE_DESCRIBE") ? bent("FAKE_DESCRIBE") : mode != 1 || type ? 3 : fill(d, 3, ph, pw, sh, sw, dh, dw, mode, 0); }
int cudnnSetConvolutionMathType(void *d, int math) { ((struct descriptor *)d)->v[8] = math; return 0; }
int cudnnSetConvolutionGroupCount(void *d, int groups) { return groups > 1 ? 0 : 3; }
int cudnnDestroyConvolutionDescriptor(void *d) { return 0; }

static int kinds(void *a, void *b, void *conv, void *c, int ka, int kb, int kc) {
    struct descriptor *pa = a, *pb = b, *pc = c, *pv = conv;
    return pa->kind == ka && pb->kind == kb && pc->kind == kc && pv->kind == 3 ? 0 : 3;
}
static int find(void *conv, int *got, cudnn_perf *r) {
    int math = ((struct descriptor *)conv)->v[8];
    static int searches;
    int fast = searches++ % 2 ? 5 : 6;
    cudnn_perf list[4] = {
        {.algorithm = 1, .millis = 1, .memory = 1 << 20, .deterministic = 0, .math = math},
        {.algorithm = 2, .millis = 2, .memory = 1 << 30, .deterministic = 1, .math = math},
        {.algorithm = fast, .millis = 3, .memory = 1 << 10, .deterministic = 1, .math = math},
        {.algorithm = 11 - fast, .millis = 4, .memory = 1 << 10, .deterministic = 1, .math = math},
    };
    for (int i = 0; i < 4; i++) r[i] = list[i], r[i].status = bent("FAKE_ALGORITHM");
    *got = bent("FAKE_FIND") ? 0 : 4;
    return bent("FAKE_FIND");
}
static int rank(void *conv, int *got, cudnn_perf *r) {
    int math = ((struct descriptor *)conv)->v[8];
    cudnn_perf list[5] = {
        {.algorithm = 1, .millis = -1, .memory = 1 << 20, .deterministic = 0, .math = math},
        {.algorithm = 4, .millis = -1, .memory = 1 << 10, .deterministic = 1, .math = math},
        {.algorithm = 2, .millis = -1, .memory = 1 << 30, .deterministic = 1, .math = math},
        {.algorithm = 6, .millis = -1, .memory = 1 << 11, .deterministic = 1, .math = math},
        {.algorithm = 5, .millis = -1, .memory = 1 << 10, .deterministic = 1, .math = math},
    };
    for (int i = 0; i < 5; i++) r[i] = list[i], r[i].status = bent("FAKE_ALGORITHM");
    *got = bent("FAKE_FIND") ? 0 : 5;
    return bent("FAKE_FIND");
}
int cudnnFindConvolutionForwardAlgorithmEx VERNIER_FIND { return kinds(d1, d2, conv, d3, 1, 2, 1) ? 3 : find(conv, got, results); }
int cudnnFindConvolutionBackwardDataAlgorithmEx VERNIER_FIND { return kinds(d1, d2, conv, d3, 2, 1, 1) ? 3 : find(conv, got, results); }
int cudnnFindConvolutionBackwardFilterAlgorithmEx VERNIER_FIND { return kinds(d1, d2, conv, d3, 1, 1, 2) ? 3 : find(conv, got, results); }
int cudnnGetConvolutionForwardAlgorithm_v7 VERNIER_GET { return kinds(d1, d2, conv, d3, 1, 2, 1) ? 3 : rank(conv, got, results); }
int cudnnGetConvolutionBackwardDataAlgorithm_v7 VERNIER_GET { return kinds(d1, d2, conv, d3, 2, 1, 1) ? 3 : rank(conv, got, results); }
int cudnnGetConvolutionBackwardFilterAlgorithm_v7 VERNIER_GET { return kinds(d1, d2, conv, d3, 1, 1, 2) ? 3 : rank(conv, got, results); }

/* A run stores what it was told where its result would be. */
static int tell(void *conv, int algo, size_t bytes, const void *p1, const void *p2, const void *beta, void *p3) {
    const struct descriptor *c = conv;
    float *out = p3;
    if (bent("FAKE_RUN")) return bent("FAKE_RUN");
    if (algo == 4) return 9;
    out[0] = algo;
    out[1] = bytes;
    out[2] = c->v[8]; /* math */
    out[3] = c->v[0] * 1000 + c->v[1] * 100 + c->v[2] * 10 + c->v[3]; /* padding and strides */
    out[4] = *(const float *)p1 * 10 + *(const float *)p2;
    out[5] = *(const float *)beta;
    return 0;
}
int cudnnConvolutionForward VERNIER_RUN { return kinds(d1, d2, conv, d3, 1, 2, 1) ? 3 : tell(conv, algo, bytes, p1, p2, beta, p3); }
int cudnnConvolutionBackwardData VERNIER_RUN { return kinds(d1, d2, conv, d3, 2, 1, 1) ? 3 : tell(conv, algo, bytes, p1, p2, beta, p3); }
int cudnnConvolutionBackwardFilter VERNIER_RUN { return 8; }
