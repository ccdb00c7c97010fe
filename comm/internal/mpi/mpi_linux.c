//go:build cgo && (mpi || gpu)

#define _GNU_SOURCE
#include "vernier_mpi.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

static const char *const names[] = {VERNIER_MPI(VERNIER_NAME, int)};
enum { COUNT = sizeof names / sizeof *names };

/* Calls a function of the family that is loaded. INT makes an integer of a handle. */
#define INT(h) ((int)(intptr_t)(h))
#define CALL(m, name, pointers, integers_) ((m)->integers ? (m)->i.name integers_ : (m)->p.name pointers)

void vernier_mpi_signals_keep(vernier_mpi *m) {
    for (int s = 1; s < 32; s++)
        if (s != SIGKILL && s != SIGSTOP) sigaction(s, NULL, &m->kept[s]);
}

void vernier_mpi_signals_back(vernier_mpi *m) {
    for (int s = 1; s < 32; s++)
        if (s != SIGKILL && s != SIGSTOP) sigaction(s, &m->kept[s], NULL);
}

const char *vernier_mpi_open(vernier_mpi *m, const char *path) {
    static char wrong[512];
    m->lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* plug-ins of Open MPI look for its symbols */
    if (!m->lib) return dlerror();
    void **slots[] = {(void **)&m->p, (void **)&m->i};
    for (int i = 0; i < COUNT; i++) {
        void *f = dlsym(m->lib, names[i]);
        if (!f) {
            snprintf(wrong, sizeof wrong, "%s lacks %s", path, names[i]);
            return wrong;
        }
        slots[0][i] = slots[1][i] = f;
    }
    m->world = dlsym(m->lib, "ompi_mpi_comm_world");
    if (m->world) {
        m->bytes = dlsym(m->lib, "ompi_mpi_byte");
        m->floats = dlsym(m->lib, "ompi_mpi_float");
        m->errors_return = dlsym(m->lib, "ompi_mpi_errors_return");
        m->ignore = (void *)0;
    } else {
        m->integers = 1;
        m->world = (void *)0x44000000;
        m->bytes = (void *)0x4c00010d;
        m->floats = (void *)0x4c00040a;
        m->errors_return = (void *)0x54000001;
        m->ignore = (void *)1;
    }
    return NULL;
}

int vernier_mpi_probe(const char *path, char *text, int room) {
    void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!lib) return -1;
    int (*version)(char *, int *);
    *(void **)&version = dlsym(lib, "MPI_Get_library_version");
    static char all[8192]; /* MPICH writes that much */
    int n = 0;
    if (!version || version(all, &n)) return -1;
    snprintf(text, room, "%s", all);
    return 0;
}

int vernier_mpi_init(vernier_mpi *m, int *provided, int *rank, int *size) {
    int code = m->p.MPI_Init_thread(NULL, NULL, MPI_SERIALIZED, provided);
    if (code) return code;
    CALL(m, MPI_Comm_set_errhandler, (m->world, m->errors_return), (INT(m->world), INT(m->errors_return)));
    CALL(m, MPI_Comm_rank, (m->world, rank), (INT(m->world), rank));
    return CALL(m, MPI_Comm_size, (m->world, size), (INT(m->world), size));
}

int vernier_mpi_finalize(vernier_mpi *m) { return m->p.MPI_Finalize(); }

int vernier_mpi_abort(vernier_mpi *m, int code) { return CALL(m, MPI_Abort, (m->world, code), (INT(m->world), code)); }

void vernier_mpi_version(vernier_mpi *m, char *text, int room) {
    static char all[8192]; /* MPICH writes that much */
    int n = 0;
    m->p.MPI_Get_library_version(all, &n);
    snprintf(text, room, "%s", all);
}

void vernier_mpi_error(vernier_mpi *m, int code, char *text, int room) {
    char all[1024];
    int n = 0;
    if (m->p.MPI_Error_string(code, all, &n)) snprintf(all, sizeof all, "MPI error %d", code);
    snprintf(text, room, "%s", all);
}

int vernier_mpi_barrier(vernier_mpi *m) { return CALL(m, MPI_Barrier, (m->world), (INT(m->world))); }

int vernier_mpi_broadcast(vernier_mpi *m, void *x, int n, int root) {
    return CALL(m, MPI_Bcast, (x, n, m->bytes, root, m->world), (x, n, INT(m->bytes), root, INT(m->world)));
}

int vernier_mpi_gather(vernier_mpi *m, const void *x, int n, void *y, const int *counts, const int *places) {
    return CALL(m, MPI_Allgatherv, (x, n, m->bytes, y, counts, places, m->bytes, m->world),
                (x, n, INT(m->bytes), y, counts, places, INT(m->bytes), INT(m->world)));
}

int vernier_mpi_send(vernier_mpi *m, const void *x, int n, int to) {
    return CALL(m, MPI_Send, (x, n, m->floats, to, TAG_NUMBERS, m->world), (x, n, INT(m->floats), to, TAG_NUMBERS, INT(m->world)));
}

int vernier_mpi_receive(vernier_mpi *m, void *x, int n, int from) {
    return CALL(m, MPI_Recv, (x, n, m->floats, from, TAG_NUMBERS, m->world, m->ignore),
                (x, n, INT(m->floats), from, TAG_NUMBERS, INT(m->world), m->ignore));
}

int vernier_mpi_exchange(vernier_mpi *m, const void *x, int n, void *y, int k, int with) {
    return CALL(m, MPI_Sendrecv, (x, n, m->floats, with, TAG_NUMBERS, y, k, m->floats, with, TAG_NUMBERS, m->world, m->ignore),
                (x, n, INT(m->floats), with, TAG_NUMBERS, y, k, INT(m->floats), with, TAG_NUMBERS, INT(m->world), m->ignore));
}

int vernier_mpi_note(vernier_mpi *m, const void *x, int n, int to) {
    return CALL(m, MPI_Send, (x, n, m->bytes, to, TAG_NOTE, m->world), (x, n, INT(m->bytes), to, TAG_NOTE, INT(m->world)));
}

int vernier_mpi_noted(vernier_mpi *m, int from, int *there) {
    return CALL(m, MPI_Iprobe, (from, TAG_NOTE, m->world, there, m->ignore), (from, TAG_NOTE, INT(m->world), there, m->ignore));
}

int vernier_mpi_take(vernier_mpi *m, void *x, int n, int from) {
    return CALL(m, MPI_Recv, (x, n, m->bytes, from, TAG_NOTE, m->world, m->ignore),
                (x, n, INT(m->bytes), from, TAG_NOTE, INT(m->world), m->ignore));
}
