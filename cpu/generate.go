package cpu

//go:generate go run ./internal/gen -isa avx512 -out avx512_amd64.s -stubs avx512_stubs_amd64.go -pkg cpu
//go:generate go run ./internal/gen -isa avx2 -out avx2_amd64.s -stubs avx2_stubs_amd64.go -pkg cpu
//go:generate go run ./internal/gen/neon -out neon_arm64.s -stubs neon_stubs_arm64.go
