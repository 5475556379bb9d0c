module github.com/tntsql/tntsql/gormtarantool

go 1.25.0

require (
	github.com/google/uuid v1.6.0
	github.com/shopspring/decimal v1.3.1
	github.com/stretchr/testify v1.12.1
	github.com/tntsql/tntsql v0.0.0
	go.uber.org/goleak v1.3.0
	gorm.io/gorm v1.31.2
)

require (
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/jinzhu/inflection v1.0.0 // indirect
	github.com/jinzhu/now v1.1.5 // indirect
	github.com/tarantool/go-iproto v1.1.0 // indirect
	github.com/tarantool/go-tarantool/v2 v2.4.2 // indirect
	github.com/vmihailenco/msgpack/v5 v5.4.1 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/text v0.20.0 // indirect
)

replace github.com/tntsql/tntsql => ../
