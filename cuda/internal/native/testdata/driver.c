/* A driver with one device, bent by macros: CODE is what cuInit returns,
 * VERSION, DEVICES and MAJOR (of a device) what the driver tells; device FAILS
 * cannot be described. Modules with the word "refused" are. */
#include "vernier_driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CODE
#define CODE 0
#endif
#ifndef VERSION
#define VERSION 13000
#endif
#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef MAJOR
#define MAJOR 9
#endif
#ifndef FAILS
#define FAILS -1
#endif

int cuInit(unsigned flags) { return CODE; }
int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }
int cuDeviceGetCount(int *count) { *count = DEVICES; return 0; }
int cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Imaginary 100", length); return device == FAILS ? 3 : 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 80ul << 30; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == ATTRIBUTE_MAJOR ? (MAJOR) : attribute == ATTRIBUTE_MINOR ? 0 : 132;
    return 0;
}
int cuGetErrorName(int error, const char **text) { *text = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR"; return 0; }
int cuGetErrorString(int error, const char **text) { *text = error == 2 ? "out of memory" : "an error"; return 0; }
int cuMemHostAlloc(void **p, size_t bytes, unsigned flags) { *p = bytes > 1 << 20 ? NULL : malloc(bytes); return *p ? 0 : 2; }
int cuMemFreeHost(void *p) { free(p); return 0; }
static void *recording;
int cuStreamBeginCapture_v2(void *stream, int mode) {
    if (mode != CAPTURE_THREAD_LOCAL) return 1;
    recording = stream;
    return 0;
}
int cuStreamEndCapture(void *stream, void **graph) { *graph = (char *)recording + 1; return stream == recording ? 0 : 905; }
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) { *exec = (char *)graph + 1; return 0; }
int cuGraphLaunch(void *exec, void *stream) { return exec == (char *)stream + 2 ? 0 : 1; }
int cuGraphDestroy(void *graph) { return 0; }
int cuGraphExecDestroy(void *exec) { return 0; }
int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values) {
    if (n != 2 || options[0] != JIT_ERROR_LOG || options[1] != JIT_ERROR_LOG_BYTES) return 1;
    *module = (void *)1000;
    if (!strstr(image, "refused")) return 0;
    snprintf(values[0], (size_t)values[1], "ptxas application ptx input, line 7; fatal : Parsing error near '.rfused'\n");
    return 218;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = (char *)module + strlen(name);
    return strcmp(name, "absent") ? 0 : 500;
}
int cuModuleUnload(void *module) { return module == (void *)1000 ? 0 : 1; }
/* The kernel of four letters stores its second argument at its first. */
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
    if (function != (void *)1004 || gx != 2 || gy != 3 || gz != 4 || bx != 256 || by != 1 || bz != 1 || shared || extra || stream != (void *)7) return 1;
    **(int **)params[0] = *(int *)params[1];
    return 0;
}
