//go:build cgo

#include "vernier_cudnn.h"

static const char *const names[] = {VERNIER_CUDNN(VERNIER_NAME)};

const char *const *vernier_cudnn_names(int *count) {
    *count = sizeof names / sizeof *names;
    return names;
}

size_t vernier_cudnn_version(const cudnn_table *t) { return t->cudnnGetVersion(); }
size_t vernier_cudnn_cuda(const cudnn_table *t) { return t->cudnnGetCudartVersion(); }
const char *vernier_cudnn_status(const cudnn_table *t, int status) { return t->cudnnGetErrorString(status); }
int vernier_cudnn_destroy(const cudnn_table *t, void *handle) { return t->cudnnDestroy(handle); }

int vernier_cudnn_create(const cudnn_table *t, void **handle, size_t stream) {
    int status = t->cudnnCreate(handle);
    if (status) return status;
    status = t->cudnnSetStream(*handle, (void *)stream);
    if (status) t->cudnnDestroy(*handle);
    return status;
}

/* Runs a call; the first failure is the result and skips the rest. */
#define TRY(call) \
    if (!status) status = (call)

int vernier_conv_describe(const cudnn_table *t, vernier_conv *c) {
    int status = 0;
    c->dx = c->dw = c->dy = c->conv = NULL;
    TRY(t->cudnnCreateTensorDescriptor(&c->dx));
    TRY(t->cudnnCreateTensorDescriptor(&c->dy));
    TRY(t->cudnnCreateFilterDescriptor(&c->dw));
    TRY(t->cudnnCreateConvolutionDescriptor(&c->conv));
    TRY(t->cudnnSetTensor4dDescriptor(c->dx, CUDNN_NHWC, c->type, c->n, c->c, c->h, c->w));
    TRY(t->cudnnSetTensor4dDescriptor(c->dy, CUDNN_NHWC, c->type, c->n, c->k, c->ho, c->wo));
    TRY(t->cudnnSetFilter4dDescriptor(c->dw, c->type, CUDNN_NHWC, c->k, c->c / c->groups, c->r, c->s));
    TRY(t->cudnnSetConvolution2dDescriptor(c->conv, c->pad_h, c->pad_w, c->stride_h, c->stride_w, 1, 1,
                                           CUDNN_CROSS_CORRELATION, CUDNN_FLOAT));
    if (c->groups > 1) TRY(t->cudnnSetConvolutionGroupCount(c->conv, c->groups));
    TRY(t->cudnnSetConvolutionMathType(c->conv, c->math));
    if (status) vernier_conv_release(t, c);
    return status;
}

void vernier_conv_release(const cudnn_table *t, vernier_conv *c) {
    if (c->conv) t->cudnnDestroyConvolutionDescriptor(c->conv);
    if (c->dw) t->cudnnDestroyFilterDescriptor(c->dw);
    if (c->dy) t->cudnnDestroyTensorDescriptor(c->dy);
    if (c->dx) t->cudnnDestroyTensorDescriptor(c->dx);
    c->dx = c->dw = c->dy = c->conv = NULL;
}

int vernier_conv_find(const cudnn_table *t, void *handle, int direction, const vernier_conv *c,
                      const vernier_operands *o, size_t limit, int *got, cudnn_perf results[CUDNN_ALGORITHMS]) {
    void *x = (void *)o->x, *w = (void *)o->w, *y = (void *)o->y, *work = (void *)o->workspace;
    switch (direction) {
    case 0:
        return t->cudnnFindConvolutionForwardAlgorithmEx(handle, c->dx, x, c->dw, w, c->conv, c->dy, y,
                                                         CUDNN_ALGORITHMS, got, results, work, limit);
    case 1:
        return t->cudnnFindConvolutionBackwardDataAlgorithmEx(handle, c->dw, w, c->dy, y, c->conv, c->dx, x,
                                                              CUDNN_ALGORITHMS, got, results, work, limit);
    default:
        return t->cudnnFindConvolutionBackwardFilterAlgorithmEx(handle, c->dx, x, c->dy, y, c->conv, c->dw, w,
                                                                CUDNN_ALGORITHMS, got, results, work, limit);
    }
}

int vernier_conv_rank(const cudnn_table *t, void *handle, int direction, const vernier_conv *c, int *got,
                      cudnn_perf results[CUDNN_ALGORITHMS]) {
    switch (direction) {
    case 0:
        return t->cudnnGetConvolutionForwardAlgorithm_v7(handle, c->dx, c->dw, c->conv, c->dy, CUDNN_ALGORITHMS, got,
                                                         results);
    case 1:
        return t->cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, c->dw, c->dy, c->conv, c->dx, CUDNN_ALGORITHMS,
                                                              got, results);
    default:
        return t->cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, c->dx, c->dy, c->conv, c->dw,
                                                                CUDNN_ALGORITHMS, got, results);
    }
}

int vernier_conv_choose(const cudnn_table *t, vernier_conv *c, const cudnn_perf *p) {
    c->algorithm = p->algorithm;
    c->bytes = p->memory;
    return t->cudnnSetConvolutionMathType(c->conv, p->math);
}

int vernier_conv_run(const cudnn_table *t, void *handle, int direction, const vernier_conv *c,
                     const vernier_operands *o) {
    const float one = 1, beta = o->beta;
    void *x = (void *)o->x, *w = (void *)o->w, *y = (void *)o->y, *work = (void *)o->workspace;
    switch (direction) {
    case 0:
        return t->cudnnConvolutionForward(handle, &one, c->dx, x, c->dw, w, c->conv, c->algorithm, work, c->bytes,
                                          &beta, c->dy, y);
    case 1:
        return t->cudnnConvolutionBackwardData(handle, &one, c->dw, w, c->dy, y, c->conv, c->algorithm, work,
                                               c->bytes, &beta, c->dx, x);
    default:
        return t->cudnnConvolutionBackwardFilter(handle, &one, c->dx, x, c->dy, y, c->conv, c->algorithm, work,
                                                 c->bytes, &beta, c->dw, w);
    }
}
