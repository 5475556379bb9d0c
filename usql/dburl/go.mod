module github.com/tntsql/tntsql/usql/dburl

go 1.25.0

require (
	github.com/stretchr/testify v1.12.1
	github.com/tntsql/tntsql v0.0.0
	// The oldest that this package works with, and what usql v0.21.4 needs; latest.mod has the newest.
	github.com/xo/dburl v0.24.2
)

require (
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/tarantool/go-iproto v1.1.0 // indirect
	github.com/tarantool/go-tarantool/v2 v2.4.2 // indirect
	github.com/vmihailenco/msgpack/v5 v5.4.1 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/tntsql/tntsql => ../..
