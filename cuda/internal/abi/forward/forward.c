/* A static libcuda.a: every function of the driver that gorgonia.org/cu refers
 * to, as a jump to the one in libcuda.so.1. So the program starts where no
 * driver is installed; there every function but two fails.
 *
 * The two are those that gorgonia.org/cu calls before main, where a failure
 * would end the process: cuInit always succeeds, and without a driver or a
 * device cuDeviceGetCount counts none. Why that is, the loader (cuda/internal/
 * native) finds out by itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#define NOT_INITIALIZED 3 /* CUDA_ERROR_NOT_INITIALIZED */

static int missing(void) { return NOT_INITIALIZED; }

/* Nothing here is seen outside of the program that it is linked into: for a library
 * that is loaded later, the driver's functions are the driver's own. */

/* One slot a function, which is found by its symbol name from assembly. */
#define X(name) __attribute__((visibility("hidden"))) void *vernier_slot_##name = (void *)missing;
#include "symbols.h"
#undef X

#if defined(__x86_64__)
#define JUMP(name) "jmp *vernier_slot_" #name "(%rip)\n"
#define TYPE "@function"
#elif defined(__aarch64__)
#define JUMP(name)                                                                                                 \
    "adrp x16, vernier_slot_" #name "\n"                                                                           \
    "ldr x16, [x16, :lo12:vernier_slot_" #name "]\n"                                                               \
    "br x16\n"
#define TYPE "%function"
#else
#error "the GPU engine is for x86-64 and arm64"
#endif

#define X(name)                                                                                                    \
    __asm__(".text\n.globl " #name "\n.hidden " #name "\n.type " #name "," TYPE "\n" #name ":\n" JUMP(name) ".size " #name ",.-" #name "\n");
#include "symbols.h"
#undef X

static int (*real_init)(unsigned);
static int (*real_count)(int *);
static int usable;

/* Where drivers put it, if the loader does not know: WSL and NixOS. */
static const char *const places[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"};

__attribute__((constructor)) static void find_driver(void) {
    void *lib = NULL;
    for (size_t i = 0; !lib && i < sizeof places / sizeof *places; i++) lib = dlopen(places[i], RTLD_NOW | RTLD_GLOBAL);
    if (!lib) return;
    void *p;
#define X(name) \
    if ((p = dlsym(lib, #name))) vernier_slot_##name = p;
#include "symbols.h"
#undef X
    real_init = (int (*)(unsigned))dlsym(lib, "cuInit");
    real_count = (int (*)(int *))dlsym(lib, "cuDeviceGetCount");
}

__attribute__((visibility("hidden"))) int cuInit(unsigned flags) {
    usable = real_init && real_count && real_init(flags) == 0;
    return 0;
}

__attribute__((visibility("hidden"))) int cuDeviceGetCount(int *count) {
    *count = 0;
    return usable ? real_count(count) : 0;
}
