// hostLaunch runs a kernel on host memory; it returns NULL or what went wrong.
// It is not safe for concurrent use.
#include <stdint.h>
const char *hostLaunch(const char *name, int x, int y, int z, int count, void **args, uint64_t seed);
