# make demo and make test are all that is needed; they install Tarantool if it is missing.

GOLANGCI_LINT = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME = 5s

# Flags of the fault suite: -long, -run names, -seed n, -out directory; -h prints them.
FAULTS =

# The modules below the root. go.work is for editors: it leaves out those that need a newer Go
# than the root, so nothing here uses it.
MODULES = bench cmd/tntsql gormtarantool internal/failover internal/faults internal/itest metrics/prometheus migrate/golangmigrate migrate/goose usql usql/dburl
export GOWORK = off

.PHONY: demo test lint tidy failover-report faults bench fuzz tarantool

demo: tarantool
	@go run ./examples/demo

# One package at a time: tests of timeouts want a processor.
test: tarantool
	scripts/install.sh cc
	go test -race -p 1 ./...
	@for module in $(MODULES); do echo "in $$module"; \
		if go -C $$module list -m 2>&1 | grep 'requires go >='; then echo "skipped: it needs a newer Go"; continue; fi; \
		go -C $$module test -race ./... || exit 1; done
	go -C usql/dburl test -modfile=latest.mod -race ./...

lint:
	go run $(GOLANGCI_LINT) run ./...
	@for module in $(MODULES); do echo "in $$module"; (cd $$module && go run $(GOLANGCI_LINT) run ./...) || exit 1; done

# For usql's tests, tidy would load every database that usql knows.
tidy:
	go mod tidy -diff
	@for module in $(filter-out usql,$(MODULES)); do echo "in $$module"; go -C $$module mod tidy -diff || exit 1; done
	go -C usql/dburl mod tidy -modfile=latest.mod -diff

failover-report: tarantool
	go -C internal/failover run ./cmd/failover-report -out results

faults: tarantool
	go -C internal/faults run ./cmd/faults $(FAULTS)

bench: tarantool
	go -C bench run ./cmd/tntsql-bench -out results

fuzz:
	scripts/fuzz.sh $(FUZZTIME)

tarantool:
	@scripts/install.sh tarantool
