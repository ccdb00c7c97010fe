/* Functions of the driver's library that gorgonia.org/cu has none for: what a
 * machine offers, errors in words, capture of graphs, and host memory that the
 * device reaches. */
#ifndef VERNIER_DRIVER_H
#define VERNIER_DRIVER_H

#include "vernier_library.h"

#define VERNIER_DRIVER(X)                                                                                          \
    X(int, cuInit, (unsigned flags))                                                                               \
    X(int, cuDriverGetVersion, (int *version))                                                                     \
    X(int, cuGetErrorName, (int error, const char **text))                                                         \
    X(int, cuGetErrorString, (int error, const char **text))                                                       \
    X(int, cuDeviceGetCount, (int *count))                                                                         \
    X(int, cuDeviceGetName, (char *name, int length, int device))                                                  \
    X(int, cuDeviceGetAttribute, (int *value, int attribute, int device))                                          \
    X(int, cuDeviceTotalMem_v2, (size_t *bytes, int device))                                                       \
    X(int, cuMemHostAlloc, (void **p, size_t bytes, unsigned flags))                                               \
    X(int, cuMemFreeHost, (void *p))                                                                               \
    X(int, cuStreamBeginCapture_v2, (void *stream, int mode))                                                      \
    X(int, cuStreamEndCapture, (void *stream, void **graph))                                                       \
    X(int, cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags))                      \
    X(int, cuGraphLaunch, (void *exec, void *stream))                                                              \
    X(int, cuGraphDestroy, (void *graph))                                                                          \
    X(int, cuGraphExecDestroy, (void *exec))                                                                       \
    X(int, cuModuleLoadDataEx, (void **module, const void *image, unsigned n, int *options, void **values))        \
    X(int, cuModuleGetFunction, (void **function, void *module, const char *name))                                 \
    X(int, cuModuleUnload, (void *module))                                                                         \
    X(int, cuLaunchKernel,                                                                                         \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,      \
       unsigned block_z, unsigned shared, void *stream, void **params, void **extra))

typedef struct { VERNIER_DRIVER(VERNIER_SLOT) } driver_table;

/* CUdevice_attribute, CUstreamCaptureMode, CUjit_option. */
enum { ATTRIBUTE_PROCESSORS = 16, ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 };
enum { ATTRIBUTE_PCI_BUS = 33, ATTRIBUTE_PCI_DEVICE = 34, ATTRIBUTE_PCI_DOMAIN = 50 };
enum { CAPTURE_THREAD_LOCAL = 1 };
enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 };

const char *const *vernier_driver_names(int *count);
int vernier_driver_start(const driver_table *t, int *version, int *devices);
int vernier_driver_name(const driver_table *t, int device, char *name, int length);
int vernier_driver_memory(const driver_table *t, int device, size_t *bytes);
int vernier_driver_attribute(const driver_table *t, int device, int attribute, int *value);
/* Name and description of an error, "" for one that the driver does not know. */
void vernier_driver_error(const driver_table *t, int error, const char **name, const char **text);
int vernier_host_alloc(const driver_table *t, size_t bytes, void **p);
int vernier_host_free(const driver_table *t, void *p);
int vernier_capture_begin(const driver_table *t, size_t stream);
/* Ends a capture and makes what was captured launchable. */
int vernier_capture_end(const driver_table *t, size_t stream, void **exec);
int vernier_graph_launch(const driver_table *t, size_t exec, size_t stream);
int vernier_graph_free(const driver_table *t, size_t exec);
/* Compiles PTX. What the compiler has to say of errors is left in log, which has
 * room for bytes and ends in a 0. */
int vernier_module_load(const driver_table *t, const char *text, char *log, size_t bytes, void **module);
int vernier_module_function(const driver_table *t, size_t module, const char *name, void **function);
int vernier_module_unload(const driver_table *t, size_t module);
/* Launches with count arguments, each in the low bytes of a word. */
int vernier_launch(const driver_table *t, size_t function, const int grid[3], int threads, unsigned long long *args,
                   int count, size_t stream);

#endif
