/* Loading of shared libraries into tables of function pointers. */
#ifndef VERNIER_LIBRARY_H
#define VERNIER_LIBRARY_H

#include <stddef.h>

/* The loader's message of the latest failure of this thread, or "". */
const char *vernier_dlerror(void);
/* Loads a file; if kept it stays loaded for good. */
void *vernier_open(const char *path, int kept);
void vernier_close(void *lib);
/* The file behind an open library, or "". */
const char *vernier_path(void *lib);
/* Fills n slots with the functions of the given names and returns how many are
 * missing; the slot of one that is missing becomes NULL. */
int vernier_fill(void *lib, void **slots, const char *const *names, int n);

/* A list of functions LIST(X), of X(result, name, (arguments)), makes a table
 * and the names of its slots. */
#define VERNIER_SLOT(result, name, arguments) result(*name) arguments;
#define VERNIER_NAME(result, name, arguments) #name,

#endif
