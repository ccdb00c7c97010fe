# Everything here needs Go, make and git alone.
GO      ?= go
BIN     := bin/vernier
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)
# The go command fetches another toolchain only if asked to.
export GOTOOLCHAIN ?= local

.PHONY: help build demo test lint bench generate clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-10s %s\n", $$1, $$2}'

build: ## build bin/vernier
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/vernier

demo: build ## train BRM on glyphs, measure it on unseen characters, draw and export it
	$(BIN) train --data glyphs --out runs/demo --force
	$(BIN) export runs/demo --format npy --out runs/demo/export --force
	@echo
	@echo "The metric, its figures and its pictures are in runs/demo; the unseen embeddings in runs/demo/export."

test: ## run every test
	$(GO) test ./...

lint: ## gofmt, vet and staticcheck
	@test -z "$$(gofmt -l .)" || { echo "gofmt these:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

bench: ## run the Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

generate: ## regenerate the assembly kernels
	$(GO) generate ./...

clean: ## remove what the other targets made
	rm -rf bin runs
