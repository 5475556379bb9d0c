module github.com/tntsql/tntsql/usql

go 1.26.1

require (
	github.com/stretchr/testify v1.12.1
	github.com/tntsql/tntsql v0.0.0
	github.com/tntsql/tntsql/usql/dburl v0.0.0
	github.com/xo/dburl v0.24.2 // as usql v0.21.4 has it, which newer ones do not build
	github.com/xo/usql v0.21.4
)

require (
	github.com/alecthomas/chroma/v2 v2.23.1 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/dlclark/regexp2 v1.11.5 // indirect
	github.com/gohxs/readline v0.0.0-20171011095936-a780388e6e7c // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/jeandeaual/go-locale v0.0.0-20250612000132-0ef82f21eade // indirect
	github.com/kenshaw/rasterm v0.1.16 // indirect
	github.com/mattn/go-runewidth v0.0.21 // indirect
	github.com/mattn/go-sixel v0.0.8 // indirect
	github.com/nathan-fiscaletti/consolesize-go v0.0.0-20220204101620-317176b6684d // indirect
	github.com/soniakeys/quant v1.0.0 // indirect
	github.com/tarantool/go-iproto v1.1.0 // indirect
	github.com/tarantool/go-tarantool/v2 v2.4.2 // indirect
	github.com/vmihailenco/msgpack/v5 v5.4.1 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	github.com/xo/tblfmt v0.16.0 // indirect
	github.com/xo/terminfo v0.0.0-20220910002029-abceb7e1c41e // indirect
	github.com/yookoala/realpath v1.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.42.0 // indirect
	golang.org/x/term v0.41.0 // indirect
	golang.org/x/text v0.35.0 // indirect
)

replace (
	github.com/tntsql/tntsql => ..
	github.com/tntsql/tntsql/usql/dburl => ./dburl
)
