//go:build cgo

#include "vernier_driver.h"

static const char *const names[] = {VERNIER_DRIVER(VERNIER_NAME)};

const char *const *vernier_driver_names(int *count) {
    *count = sizeof names / sizeof *names;
    return names;
}

int vernier_driver_start(const driver_table *t, int *version, int *devices) {
    *version = *devices = 0;
    t->cuDriverGetVersion(version); /* works before cuInit, and where that fails */
    int status = t->cuInit(0);
    return status ? status : t->cuDeviceGetCount(devices);
}

int vernier_driver_name(const driver_table *t, int device, char *name, int length) {
    return t->cuDeviceGetName(name, length, device);
}

int vernier_driver_memory(const driver_table *t, int device, size_t *bytes) {
    return t->cuDeviceTotalMem_v2(bytes, device);
}

int vernier_driver_attribute(const driver_table *t, int device, int attribute, int *value) {
    return t->cuDeviceGetAttribute(value, attribute, device);
}

void vernier_driver_error(const driver_table *t, int error, const char **name, const char **text) {
    if (t->cuGetErrorName(error, name) || !*name) *name = "";
    if (t->cuGetErrorString(error, text) || !*text) *text = "";
}

int vernier_host_alloc(const driver_table *t, size_t bytes, void **p) { return t->cuMemHostAlloc(p, bytes, 0); }

int vernier_host_free(const driver_table *t, void *p) { return t->cuMemFreeHost(p); }

int vernier_capture_begin(const driver_table *t, size_t stream) {
    return t->cuStreamBeginCapture_v2((void *)stream, CAPTURE_THREAD_LOCAL);
}

int vernier_capture_end(const driver_table *t, size_t stream, void **exec) {
    void *graph = NULL;
    int status = t->cuStreamEndCapture((void *)stream, &graph);
    if (status) return status;
    status = t->cuGraphInstantiateWithFlags(exec, graph, 0);
    t->cuGraphDestroy(graph);
    return status;
}

int vernier_graph_launch(const driver_table *t, size_t exec, size_t stream) {
    return t->cuGraphLaunch((void *)exec, (void *)stream);
}

int vernier_graph_free(const driver_table *t, size_t exec) { return t->cuGraphExecDestroy((void *)exec); }

int vernier_module_load(const driver_table *t, const char *text, char *log, size_t bytes, void **module) {
    int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(bytes - 1)};
    log[0] = log[bytes - 1] = 0;
    return t->cuModuleLoadDataEx(module, text, 2, options, values);
}

int vernier_module_function(const driver_table *t, size_t module, const char *name, void **function) {
    return t->cuModuleGetFunction(function, (void *)module, name);
}

int vernier_module_unload(const driver_table *t, size_t module) { return t->cuModuleUnload((void *)module); }

int vernier_launch(const driver_table *t, size_t function, const int grid[3], int threads, unsigned long long *args,
                   int count, size_t stream) {
    void *params[count > 0 ? count : 1];
    for (int i = 0; i < count; i++) params[i] = &args[i];
    return t->cuLaunchKernel((void *)function, grid[0], grid[1], grid[2], threads, 1, 1, 0, (void *)stream, params, NULL);
}
