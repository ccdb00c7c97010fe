// Package mpi calls a library of MPI that is loaded when the program runs: Open MPI, or
// MPICH and what has its binary interface. Nothing of MPI is needed to build it. It is
// part of programs built with the tag mpi or gpu on Linux, and empty in all others.
package mpi
