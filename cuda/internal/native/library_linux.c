//go:build cgo

#define _GNU_SOURCE
#include "vernier_library.h"

#include <dlfcn.h>
#include <link.h>

const char *vernier_dlerror(void) {
    const char *text = dlerror();
    return text ? text : "";
}

void *vernier_open(const char *path, int kept) {
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | (kept ? RTLD_NODELETE : 0));
}

void vernier_close(void *lib) { dlclose(lib); }

const char *vernier_path(void *lib) {
    struct link_map *map = NULL;
    return dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name ? map->l_name : "";
}

int vernier_fill(void *lib, void **slots, const char *const *names, int n) {
    int missing = 0;
    for (int i = 0; i < n; i++) {
        slots[i] = dlsym(lib, names[i]);
        if (!slots[i]) missing++;
    }
    return missing;
}
