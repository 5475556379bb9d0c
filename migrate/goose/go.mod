module github.com/tntsql/tntsql/migrate/goose

go 1.26.0

require (
	github.com/pressly/goose/v3 v3.30.1
	github.com/stretchr/testify v1.12.1
	github.com/tntsql/tntsql v0.0.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/mfridman/interpolate v0.2.0 // indirect
	github.com/sethvargo/go-retry v0.5.0 // indirect
	github.com/tarantool/go-iproto v1.1.0 // indirect
	github.com/tarantool/go-tarantool/v2 v2.4.2 // indirect
	github.com/vmihailenco/msgpack/v5 v5.4.1 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sync v0.25.0 // indirect
)

replace github.com/tntsql/tntsql => ../..
