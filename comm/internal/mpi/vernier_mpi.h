/* The functions of MPI that are used, as one table of typed pointers for each family of
 * binary interfaces: H is what a handle is. Open MPI has pointers, MPICH and all of its
 * interface (Intel MPI, Cray, MVAPICH) integers. */
#ifndef VERNIER_MPI_H
#define VERNIER_MPI_H

#include <signal.h>

#define VERNIER_MPI(X, H)                                                                                       \
    X(int, MPI_Init_thread, (int *argc, char ***argv, int required, int *provided))                             \
    X(int, MPI_Finalize, (void))                                                                                \
    X(int, MPI_Abort, (H comm, int code))                                                                       \
    X(int, MPI_Comm_rank, (H comm, int *rank))                                                                  \
    X(int, MPI_Comm_size, (H comm, int *size))                                                                  \
    X(int, MPI_Comm_set_errhandler, (H comm, H handler))                                                        \
    X(int, MPI_Error_string, (int code, char *text, int *length))                                               \
    X(int, MPI_Get_library_version, (char *text, int *length))                                                  \
    X(int, MPI_Barrier, (H comm))                                                                               \
    X(int, MPI_Bcast, (void *x, int n, H type, int root, H comm))                                               \
    X(int, MPI_Allgatherv,                                                                                      \
      (const void *x, int n, H type, void *y, const int counts[], const int places[], H totype, H comm))        \
    X(int, MPI_Send, (const void *x, int n, H type, int to, int tag, H comm))                                   \
    X(int, MPI_Recv, (void *x, int n, H type, int from, int tag, H comm, void *status))                         \
    X(int, MPI_Iprobe, (int from, int tag, H comm, int *there, void *status))                                   \
    X(int, MPI_Sendrecv, (const void *x, int n, H type, int to, int tag, void *y, int m, H totype, int from,    \
                          int fromtag, H comm, void *status))

#define VERNIER_SLOT(result, name, arguments) result(*name) arguments;
#define VERNIER_NAME(result, name, arguments) #name,

typedef struct { VERNIER_MPI(VERNIER_SLOT, void *) } pointer_table;
typedef struct { VERNIER_MPI(VERNIER_SLOT, int) } integer_table;

typedef struct {
    void *lib;
    int integers; /* whether handles are */
    pointer_table p;
    integer_table i;
    void *world, *bytes, *floats, *errors_return, *ignore; /* constants of the family */
    struct sigaction kept[32];
} vernier_mpi;

enum { MPI_SERIALIZED = 2 }; /* MPI_THREAD_SERIALIZED, the same in both families */
enum { TAG_NUMBERS = 1, TAG_NOTE = 2 };

/* The handlers of signals as they are now; signals_back makes them that again.
 * Libraries under MPI (UCX) take those of SIGSEGV and others from Go, which makes
 * panics of them. */
void vernier_mpi_signals_keep(vernier_mpi *m);
void vernier_mpi_signals_back(vernier_mpi *m);

/* Loads a library and finds its functions; NULL, or what is wrong. */
const char *vernier_mpi_open(vernier_mpi *m, const char *path);
/* The version of a library that is loaded for nothing else; 0, or -1 if it cannot be. */
int vernier_mpi_probe(const char *path, char *text, int room);
int vernier_mpi_init(vernier_mpi *m, int *provided, int *rank, int *size);
int vernier_mpi_finalize(vernier_mpi *m);
int vernier_mpi_abort(vernier_mpi *m, int code);
void vernier_mpi_version(vernier_mpi *m, char *text, int room);
void vernier_mpi_error(vernier_mpi *m, int code, char *text, int room);
int vernier_mpi_barrier(vernier_mpi *m);
int vernier_mpi_broadcast(vernier_mpi *m, void *x, int n, int root);
int vernier_mpi_gather(vernier_mpi *m, const void *x, int n, void *y, const int *counts, const int *places);
int vernier_mpi_send(vernier_mpi *m, const void *x, int n, int to);
int vernier_mpi_receive(vernier_mpi *m, void *x, int n, int from);
/* A note of n bytes to a rank; whether one of a rank has come, which take then receives. */
int vernier_mpi_note(vernier_mpi *m, const void *x, int n, int to);
int vernier_mpi_noted(vernier_mpi *m, int from, int *there);
int vernier_mpi_take(vernier_mpi *m, void *x, int n, int from);
int vernier_mpi_exchange(vernier_mpi *m, const void *x, int n, void *y, int k, int with);
#endif
