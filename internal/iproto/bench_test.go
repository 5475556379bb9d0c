package iproto

import (
	"bytes"
	"database/sql/driver"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tarantool/go-tarantool/v2"
)

// manyRows is the body of a reply of n rows: an integer, a string, a double.
func manyRows(n int) []byte {
	body := []byte{0x82, 0x32}
	body = appendArrayLen(body, 3)
	for _, column := range []struct{ name, typ string }{{"ID", "integer"}, {"NAME", "string"}, {"PRICE", "double"}} {
		body = appendString(append(appendMapLen(body, 2), 0x00), column.name)
		body = appendString(append(body, 0x01), column.typ)
	}
	body = appendArrayLen(append(body, 0x30), n)
	for i := range n {
		body = appendInt(appendArrayLen(body, 3), int64(i))
		body = appendFloat(appendString(body, fmt.Sprintf("the name %d", i)), float64(i)/4)
	}
	return body
}

func BenchmarkRows(b *testing.B) {
	const rows = 10_000
	body := manyRows(rows)
	b.Run("this package", func(b *testing.B) {
		b.ReportAllocs()
		columns := NewColumnCache(1<<20, true)
		row := make([]driver.Value, 3)
		for b.Loop() {
			r, err := ParseExecute(body, columns)
			require.NoError(b, err)
			for err = r.Next(row); err == nil; err = r.Next(row) {
			}
			require.Equal(b, io.EOF, err)
		}
	})
	b.Run("go-tarantool", func(b *testing.B) {
		b.ReportAllocs()
		request := tarantool.NewExecuteRequest("")
		for b.Loop() {
			response, err := request.Response(tarantool.Header{}, bytes.NewReader(body))
			require.NoError(b, err)
			data, err := response.Decode()
			require.NoError(b, err)
			require.Len(b, data, rows)
		}
	})
}

func BenchmarkParseExecuteOfOneRow(b *testing.B) {
	body := manyRows(1)
	columns := NewColumnCache(1<<20, true)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = ParseExecute(body, columns)
	}
}

func BenchmarkAppendExecuteID(b *testing.B) {
	args := []driver.NamedValue{{Ordinal: 1, Value: int64(42)}, {Ordinal: 2, Value: "Ann"}, {Ordinal: 3, Value: 1.5}}
	body := make([]byte, 0, 128)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = AppendExecuteID(body, 7, args, Version{2, 6, 0})
	}
}
