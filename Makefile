# make demo and make test are all that is needed; they install Tarantool if it is missing.

GOLANGCI_LINT = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME = 5s

.PHONY: demo test lint failover-report bench fuzz tarantool

demo: tarantool
	@go run ./examples/demo

test: tarantool
	scripts/install.sh cc
	GOWORK=off go test -race ./...
	go -C internal/itest test -race ./...
	go -C internal/failover test -race ./...
	go -C bench test -race ./...

lint:
	go run $(GOLANGCI_LINT) run ./... ./internal/itest/... ./internal/failover/... ./bench/...

failover-report: tarantool
	go -C internal/failover run ./cmd/failover-report -out results

bench: tarantool
	go -C bench run ./cmd/tntsql-bench -out results

fuzz:
	scripts/fuzz.sh $(FUZZTIME)

tarantool:
	@scripts/install.sh tarantool
