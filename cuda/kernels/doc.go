// Package kernels holds the GPU engine's own kernels: CUDA C in device/, the PTX
// that clang makes of it, and for each kernel a function that says how it is
// launched. What cuBLAS and cuDNN do (products, convolutions) is not here, but
// for convolutions of geometries that cuDNN refuses.
//
// The source has two targets. Package host compiles the same files as plain C
// and runs launches on the CPU, barriers and all, so that every index and every
// reduction is tested where there is no GPU.
//
// Maps are channels-last, (N, H, W, C), of a storage Type; arithmetic is in
// float32. Reductions have a fixed order and no kernel adds by atomics: results
// are the same each time.
//
// Each source file device/NAME.cu is a module, ptx/NAME.ptx, that a driver compiles
// when one of its kernels is asked for; a module that it refuses keeps no other from
// working. They are for compute capability 7.0 and later, those that include fragments.h,
// products on tensor cores, for 8.0.
//
// After a change in device/: go generate ./cuda/kernels (needs clang-19; without
// it, go run ./cuda/kernels/gen -out cuda/kernels -ptx=false). It compiles the
// modules whose sources have changed. After a merge that conflicts in what is
// generated, take either side and generate again.
package kernels

//go:generate go run ./gen -out .
