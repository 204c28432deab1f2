# Everything here needs Go alone. `make bench` and .ci/run use more when it stands beside the checkout; see
# docs/performance.md and .ci/run.

GO   ?= go
TIME ?= 30s

.PHONY: build profile test bench guard scale fuzz lint schemas golden man

# A static binary: no cgo, so it runs on any machine of the same system and processor. The profile says which functions are worth more of the
# compiler's time: a summary takes a seventh less, the first build half a minute more of two cores.
BINARY ?= kdissect
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -pgo=bench/default.pgo -o '$(BINARY)' ./cmd/kdissect

# The profile that build takes. To be made anew when the hot functions have changed.
profile:
	$(GO) run ./bench/profile

test:
	$(GO) test ./...

# The whole program beside others, and each layer: docs/performance.md gets the figures. BENCH takes flags: with BENCH=--quick it takes about a minute, and
# the document stays as it is.
bench:
	$(GO) run ./bench/compare --out docs/performance.md $(BENCH)

# Allocations, and times as ratios, compared with bench/baseline.json; GUARD=--update writes it anew.
guard:
	$(GO) run ./bench/guard $(GUARD)

# How time and memory grow: the pictures of docs/performance.md. With SCALE=--quick it leaves out what takes long, with SCALE=--draw it draws the figures of the last time.
scale:
	$(GO) run ./bench/scale $(SCALE)

# Every fuzz target for TIME. What breaks one is kept in the package's testdata/fuzz and is a test from then on.
fuzz:
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(TIME) $$package; \
		done; \
	done

lint:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:" $$unformatted; exit 1; fi
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) -C bench/scale/plot vet .

# The built-in catalog out of Kafka's schema files, oldest release first. A new release is merged into what is there:
#	make schemas FROM="schema/catalog NEW"
# where NEW is a directory of schema files by module, a directory of Kafka's JAR files, or one JAR file.
schemas:
	@if [ -z "$(FROM)" ]; then echo 'usage: make schemas FROM="schema/catalog NEW"'; exit 2; fi
	$(GO) run ./schema/import -o schema/catalog $(FROM)

# The pages of the manual, from the same source as --help.
MAN ?= man
man:
	mkdir -p $(MAN)
	$(GO) run ./cmd/kdissect man $(MAN)

# Rewrites the golden files with what the program prints now. Read the diff.
golden:
	$(GO) test ./cmd/kdissect -update
