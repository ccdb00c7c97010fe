# Everything here needs Go, make and git alone.
GO      ?= go
BIN     := bin/vernier
GPU_BIN := bin/vernier-gpu
MPI_BIN := bin/vernier-mpi
RELEASE := $(shell sed -n 's/^const release = "\(.*\)"/\1/p' cmd/internal/cli/version.go)
VERSION := $(RELEASE)+$(shell git describe --always --dirty --exclude='*' 2>/dev/null || echo unknown)
LDFLAGS := -X github.com/vernier-ml/vernier/cmd/internal/cli.version=$(VERSION)
# Any Go from 1.21 on will do: the go command fetches the release that go.mod names.

.PHONY: help house build build-gpu build-mpi gpu-check cuda-wheels-check demo test test-full test-mpi test-postgres test-weaviate test-browser test-arm64 lint lint-gpu bench generate release clean

# The GPU build: gorgonia.org/cu is compiled with our own cuda.h and linked with
# a libcuda.a that forwards to the driver's library, so that neither an SDK nor a
# driver has to be there. The header of an SDK in CUDA_HOME is taken if it is of
# release 11: those since give other symbols to names that gorgonia.org/cu calls
# (cuGraphAddKernelNode, cuCtxCreate). What is built is the same with either, and
# runs with a driver and libraries of CUDA 12 and 13.
CC       ?= cc
ABI      := cuda/internal/abi
LIBCUDA  := bin/gpu/libcuda.a
SDK_CUDA := $(if $(CUDA_HOME),$(shell sed -n 's/^\#define CUDA_VERSION *//p' '$(CUDA_HOME)/include/cuda.h' 2>/dev/null))
SDK_FITS := $(filter 11%,$(SDK_CUDA))
CUDA_INC := $(if $(SDK_FITS),$(CUDA_HOME)/include,$(CURDIR)/$(ABI)/include)
ifneq ($(and $(CUDA_HOME),$(filter build-gpu gpu-check lint-gpu,$(MAKECMDGOALS))),)
ifeq ($(SDK_FITS),)
$(info note: CUDA_HOME=$(CUDA_HOME) has $(if $(SDK_CUDA),the cuda.h of CUDA_VERSION $(SDK_CUDA),no include/cuda.h): compiling with our own cuda.h, which serves every driver)
endif
endif
GPU_ENV   = CGO_ENABLED=1 CGO_CFLAGS="-O2 -g -Wno-implicit-function-declaration -Wno-deprecated-declarations -I$(CUDA_INC)" CGO_LDFLAGS="-L$(CURDIR)/$(dir $(LIBCUDA)) -ldl"

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-10s %s\n", $$1, $$2}'

build: ## build bin/vernier and bin/vernier-papers
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/vernier
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)-papers ./cmd/vernier-papers

build-gpu: $(LIBCUDA) ## build bin/vernier-gpu and bin/vernier-gpu-papers, with the GPU engine; needs gcc, no CUDA SDK
	$(GPU_ENV) $(GO) build -tags gpu -ldflags '$(LDFLAGS)' -o $(GPU_BIN) ./cmd/vernier
	$(GPU_ENV) $(GO) build -tags gpu -ldflags '$(LDFLAGS)' -o $(GPU_BIN)-papers ./cmd/vernier-papers

build-mpi: ## build bin/vernier-mpi, which several processes run together under mpirun; needs gcc, no MPI
	CGO_ENABLED=1 $(GO) build -tags mpi -ldflags '$(LDFLAGS)' -o $(MPI_BIN) ./cmd/vernier

CHECK := bin/gpu-check

gpu-check: $(LIBCUDA) ## a folder that tests and times the GPU engine on a machine without Go
	rm -rf $(CHECK)
	mkdir -p $(CHECK)
	$(GPU_ENV) $(GO) build -tags gpu -trimpath -ldflags '-s -w $(LDFLAGS)' -o $(CHECK)/vernier ./cmd/vernier
	$(GPU_ENV) $(GO) test -c -tags gpu -trimpath -ldflags '-s -w' -o $(CHECK)/cuda.test ./cuda
	cp bench/gpucheck.py bench/gputests.py bench/photographs.py bench/torch_gpu.py bench/torchnets.py $(CHECK)
	gzip -9 $(CHECK)/vernier $(CHECK)/cuda.test
	@test $$(du -sm $(CHECK) | cut -f1) -lt 45 || { echo "$(CHECK) is over 45 MiB"; exit 1; }
	@echo "copy $(CHECK) to a machine with a GPU and run there: python3 gpucheck.py --only tests; python3 gpucheck.py --only bench"

CUDA_WHEELS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/vernier/cuda-wheels

cuda-wheels-check: ## check the GPU engine against NVIDIA's libraries and headers from PyPI (8 GB)
	python3 bench/cudawheels.py --folder '$(CUDA_WHEELS)'

$(LIBCUDA): $(wildcard $(ABI)/forward/*)
	mkdir -p $(dir $@)
	$(CC) -O2 -fPIC -std=gnu99 -Wall -c -o $(@:.a=.o) $(ABI)/forward/forward.c
	rm -f $@
	ar rcs $@ $(@:.a=.o)

demo: build ## train BRM on glyphs, measure it on unseen characters, draw and export it
	$(BIN) train --data glyphs --out runs/demo --force
	$(BIN) export runs/demo --format npy --out runs/demo/export --force
	@echo
	@echo "The metric, its figures and its pictures are in runs/demo; the unseen embeddings in runs/demo/export."

test: ## run every test but those of test-mpi, test-postgres and test-weaviate
	$(GO) test ./...

test-full: ## run every test, on the fake GPU with every comparison and not every sixth
	VERNIER_FULL_SUITE=1 $(GO) test -timeout 20m ./...

test-mpi: ## the tests that start several processes, under Open MPI and MPICH (Debian: openmpi-bin, mpich)
	CGO_ENABLED=1 $(GO) test -tags mpi ./comm
	CGO_ENABLED=1 $(GO) test -tags mpi -run '^TestProcesses' ./cmd/vernier

test-postgres: ## the tests of galleries in PostgreSQL, with two servers of Debian's packages; needs apt, installs nothing
	VERNIER_REQUIRE_POSTGRES=1 .ci/with-postgres sh -c '$(GO) test ./gallery/postgres && $(GO) test -run "^TestGallery" ./cmd/vernier'

test-weaviate: ## the tests of galleries in Weaviate, with two nodes, after a build of four minutes; needs curl
	VERNIER_REQUIRE_WEAVIATE=1 .ci/with-weaviate sh -c '$(GO) test ./gallery/weaviate && $(GO) test -run "^TestGallery" ./cmd/vernier'

SCREENSHOTS ?= bin/screenshots

test-browser: ## the pages in Chromium (Debian: chromium), with pictures of them in SCREENSHOTS (bin/screenshots)
	VERNIER_REQUIRE_BROWSER=1 VERNIER_SCREENSHOTS='$(abspath $(SCREENSHOTS))' $(GO) test -count=1 -run 'InABrowser$$' ./cmd/vernier

QEMU ?= qemu-aarch64-static

test-arm64: ## the kernels of arm64 under QEMU, on any Linux machine (Debian: qemu-user-static)
	@command -v $(QEMU) >/dev/null || { echo "test-arm64: no $(QEMU) here: install it (Debian: qemu-user-static), or name another with QEMU="; exit 1; }
	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 $(GO) test -exec $(QEMU) -skip '/^portable$$' ./cpu

lint: ## gofmt, vet and staticcheck
	@test -z "$$(gofmt -l .)" || { echo "gofmt these:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

lint-gpu: $(LIBCUDA) ## vet and staticcheck the GPU build
	$(GPU_ENV) $(GO) vet -tags gpu ./...
	$(GPU_ENV) $(GO) tool staticcheck -tags gpu ./cuda/... ./cmd/...

house: ## figures of the repository's state, as they were and as they are
	@$(GO) run ./internal/house

bench: ## run the Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

# PTX needs clang-19; only modules (cuda/kernels/device/*.cu) whose sources have changed are compiled.
# After a merge that conflicts in generated files: take either side, make generate.
generate: ## regenerate the assembly of the CPU and the PTX of the GPU
	$(GO) generate ./...

PROGRAMS := vernier vernier-papers
RELEASES := linux-amd64 linux-arm64 darwin-arm64

release: build ## static binaries with completions, manual pages and checksums, in dist
	rm -rf dist && mkdir -p dist
	mkdir dist/completions
	for program in $(PROGRAMS); do \
		bin/$$program man dist/man || exit 1; \
		for shell in bash zsh fish; do bin/$$program completion $$shell >dist/completions/$$program.$$shell || exit 1; done; \
	done
	for system in $(RELEASES); do \
		folder=dist/vernier-$(RELEASE)-$$system && mkdir $$folder && \
		CGO_ENABLED=0 GOOS=$${system%-*} GOARCH=$${system#*-} $(GO) build -trimpath -ldflags '-s -w $(LDFLAGS)' -o $$folder/ $(PROGRAMS:%=./cmd/%) && \
		cp -R LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs dist/completions dist/man $$folder && \
		tar -czf $$folder.tar.gz -C dist $${folder#dist/} && rm -r $$folder || exit 1; \
	done
	rm -r dist/completions dist/man
	cd dist && { sha256sum *.tar.gz || shasum -a 256 *.tar.gz; } 2>/dev/null | tee SHA256SUMS

clean: ## remove what the other targets made
	rm -rf bin dist runs
