module github.com/tntsql/tntsql

go 1.25.0

require (
	github.com/DATA-DOG/go-sqlmock v1.5.2
	github.com/hashicorp/golang-lru/v2 v2.0.7
	github.com/stretchr/testify v1.12.1
	github.com/tarantool/go-iproto v1.1.0
	github.com/tarantool/go-tarantool/v2 v2.4.2
	github.com/vmihailenco/msgpack/v5 v5.4.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
