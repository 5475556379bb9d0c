package iproto

import (
	"database/sql/driver"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What was handed out stays as it is, whatever is read, collected or written to after it.
func TestValuesOfManyRowsStayAsTheyAre(t *testing.T) {
	const rows = 10_000
	body := []byte{0x82, 0x32}
	body = appendArrayLen(body, 5)
	for range 5 {
		body = append(body, 0x82, 0x00, 0xa1, 'A', 0x01, 0xa1, 'a')
	}
	body = appendArrayLen(append(body, 0x30), rows)
	want := func(i int) []driver.Value {
		return []driver.Value{int64(i*1000) - 100_000, float64(i) / 3, fmt.Sprint("text ", i), []byte(fmt.Sprint("bytes ", i)), ""}
	}
	for i := range rows {
		body = appendArrayLen(body, 5)
		for _, v := range want(i) {
			var err error
			body, err = AppendValue(body, v, newest)
			require.NoError(t, err)
		}
	}
	require.Greater(t, len(body), copyAbove)
	r, err := ParseExecute(body, nil)
	require.NoError(t, err)
	kept := make([][]driver.Value, rows)
	for i := range kept {
		kept[i] = make([]driver.Value, 5)
		require.NoError(t, r.Next(kept[i]))
		if i%100 == 0 {
			runtime.GC()
		}
	}
	clear(body) // all values were copied
	for i, row := range kept {
		binary := row[3].([]byte)
		require.Equal(t, len(binary), cap(binary))
		require.Equal(t, want(i), row)
		clear(binary)
	}
}

func TestAShortTextKeepsNoLongNeighbours(t *testing.T) {
	const rows, long = 320, 100 << 10
	body := appendArrayLen([]byte{0x82, 0x32}, 2)
	for range 2 {
		body = append(body, 0x82, 0x00, 0xa1, 'A', 0x01, 0xa1, 'a')
	}
	body = appendArrayLen(append(body, 0x30), rows)
	text := strings.Repeat("x", long)
	for i := range rows {
		body = appendString(appendString(appendArrayLen(body, 2), fmt.Sprint("key ", i)), text)
	}
	r, err := ParseExecute(body, nil)
	require.NoError(t, err)
	before := heap()
	keys, row := make([]any, rows), make([]driver.Value, 2)
	for i := range keys {
		require.NoError(t, r.Next(row))
		keys[i] = row[0]
	}
	clear(row)
	require.Less(t, heap(), before+100*rows+slack)
	runtime.KeepAlive(keys)
	runtime.KeepAlive(body)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
