// Package mpitest runs programs as several processes in tests, under the launchers of
// Open MPI and MPICH.
package mpitest
