package tntsql_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// integers are values around the limits of each width that MessagePack has.
var integers = []int64{
	0, 1, 31, 32, 127, 128, 255, 256, 1<<15 - 1, 1 << 15, 1<<16 - 1, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 40, math.MaxInt64,
	-1, -31, -32, -33, -128, -129, -1 << 15, -1<<15 - 1, -1 << 31, -1<<31 - 1, math.MinInt64,
}

// integerTypes gives n as a value of every integer type that can hold it.
func integerTypes(n int64) []any {
	values := []any{n, time.Duration(n)}
	add := func(fits bool, v any) {
		if fits {
			values = append(values, v)
		}
	}
	add(int64(int(n)) == n, int(n))
	add(int64(int8(n)) == n, int8(n))
	add(int64(int16(n)) == n, int16(n))
	add(int64(int32(n)) == n, int32(n))
	add(n >= 0, uint64(n))
	add(n >= 0 && int64(uint(n)) == n, uint(n))
	add(int64(uint8(n)) == n, uint8(n))
	add(int64(uint16(n)) == n, uint16(n))
	add(int64(uint32(n)) == n, uint32(n))
	return values
}

// Many servers up to 3.3.1 misread a non-negative integer that is sent as a
// signed one (tarantool#10132): they give back another number, find no row, and
// refuse LIMIT.
func TestIntegersOfEveryTypeArriveAsTheyAre(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw", "seq_scan=true")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, S STRING")
	for _, n := range integers {
		mustExec(t, db, fmt.Sprintf("INSERT INTO %s VALUES (%d, '%[2]d')", name, n))
		for _, v := range integerTypes(n) {
			assert.Equal(t, any(n), value[any](t, db, "SELECT ?", v), "SELECT ? of %T(%[1]d)", v)
			assert.Equal(t, fmt.Sprint(n), value[string](t, db, "SELECT S FROM "+name+" WHERE ID = ?", v), "key of %T(%[1]d)", v)

			mustExec(t, db, "DELETE FROM "+name+" WHERE ID = ?", v)
			mustExec(t, db, "INSERT INTO "+name+" VALUES (?, ?)", v, fmt.Sprint(n))
			if n >= 0 {
				rows := min(n, 1)
				limited := value[int64](t, db, "SELECT COUNT(*) FROM (SELECT 1 FROM "+name+" WHERE ID = ? LIMIT ?)", v, v)
				assert.Equal(t, rows, limited, "LIMIT of %T(%[1]d)", v)
			}
		}
	}
}

func TestIntegersKeepTheir64Bits(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, U UNSIGNED, N NUMBER, X SCALAR")
	for _, n := range []any{
		int64(math.MinInt64), int64(math.MinInt64 + 1), -int64(1)<<53 - 1, int64(1)<<53 + 1, int64(math.MaxInt64),
		uint64(1 << 63), uint64(1<<63 + 1), uint64(math.MaxUint64 - 1), uint64(math.MaxUint64),
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			unsigned, literal := n, "SELECT "+fmt.Sprint(n)
			if i, ok := n.(int64); ok && i < 0 {
				unsigned = nil
			}
			assert.Equal(t, n, value[any](t, db, "SELECT ?", n))
			assert.Equal(t, n, value[any](t, db, literal))
			mustExec(t, db, "INSERT INTO "+name+" VALUES (?, ?, ?, ?)", n, unsigned, n, n)
			var id, u, number, x any
			row := db.QueryRowContext(t.Context(), "SELECT ID, U, N, X FROM "+name+" WHERE ID = ?", n)
			require.NoError(t, row.Scan(&id, &u, &number, &x))
			assert.Equal(t, []any{n, unsigned, n, n}, []any{id, u, number, x})
			if !rs.AtLeast(2, 10, 0) {
				return
			}
			assert.Equal(t, []any{n, []any{n}}, value[any](t, db, "SELECT ?", []any{n, []any{n}}))
			doc := value[tntsql.Doc[map[string]any]](t, db, "SELECT :m", sql.Named("m", map[string]any{"n": n}))
			assert.Equal(t, map[string]any{"n": n}, doc.V)
		})
	}
	var small int64
	err := db.QueryRowContext(t.Context(), "SELECT ?", uint64(1<<63)).Scan(&small)
	assert.ErrorContains(t, err, "out of range", "it is not cut to what fits")
}

// decimalDigits is how many digits a DECIMAL of the server has.
func decimalDigits(rs *tarantooltest.ReplicaSet) int {
	if rs.AtLeast(3, 5, 0) {
		return 76
	}
	return 38
}

func TestDecimalsKeepEveryDigitAtEveryScale(t *testing.T) {
	newTypes(t)
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	name := table(t, rs, "ID INTEGER PRIMARY KEY AUTOINCREMENT, D DECIMAL")
	digits := strings.Repeat("1234567890", 8)[:decimalDigits(rs)]
	for scale := range len(digits) + 1 {
		point := len(digits) - scale
		whole := "0"
		if point > 0 {
			whole = digits[:point]
		}
		text := strings.TrimSuffix("-"+whole+"."+digits[point:], ".")
		scaled, _ := new(big.Int).SetString("-"+digits, 10)
		for _, in := range []any{tntsql.Decimal(text), scaledInt{scaled, int32(-scale)}} {
			result := mustExec(t, db, "INSERT INTO "+name+" (D) VALUES (?)", in)
			id, err := result.LastInsertId()
			require.NoError(t, err)
			assert.Equal(t, text, value[string](t, db, "SELECT D FROM "+name+" WHERE ID = ?", id), "%T of scale %d", in, scale)
		}
		assert.Equal(t, tntsql.Decimal(text), value[tntsql.Decimal](t, db, "SELECT ?", tntsql.Decimal(text)))
	}
	for in, out := range map[string]string{
		"0": "0", "-0": "0", "0.00": "0.00", "1.500": "1.500", "1e3": "1000", "1e-7": "0.0000001", "-12.5e-3": "-0.0125", "+7": "7", ".5": "0.5", "00.10": "0.10",
	} {
		assert.Equal(t, out, value[any](t, db, "SELECT ?", tntsql.Decimal(in)), in)
	}
	version, _, _ := strings.Cut(rs.Version(), "-")
	for _, tooLong := range []string{digits + "1", "0." + strings.Repeat("0", len(digits)) + "1", fmt.Sprintf("1e%d", len(digits)), fmt.Sprintf("1e-%d", len(digits)+1)} {
		_, err := db.ExecContext(t.Context(), "SELECT ?", tntsql.Decimal(tooLong))
		assert.ErrorContains(t, err, fmt.Sprintf("parameter 1: a DECIMAL of Tarantool %s has at most %d digits", version, len(digits)))
	}
	_, err := db.ExecContext(t.Context(), "SELECT ?", tntsql.Decimal("12,50"))
	assert.ErrorContains(t, err, `parameter 1: not a decimal number`)
}

// scaledInt has the methods of shopspring's decimal.
type scaledInt struct {
	n        *big.Int
	exponent int32
}

func (s scaledInt) Coefficient() *big.Int { return s.n }
func (s scaledInt) Exponent() int32       { return s.exponent }

func TestDecimalsAreExactInExpressions(t *testing.T) {
	newTypes(t)
	db := open(t)
	assert.Equal(t, "0.3", value[any](t, db, "SELECT ? + ?", tntsql.Decimal("0.1"), tntsql.Decimal("0.2")))
	sum := value[tntsql.Decimal](t, db, "SELECT ? + 1", tntsql.Decimal("12345678901234567890123456789.01"))
	assert.Equal(t, tntsql.Decimal("12345678901234567890123456790.01"), sum)
}

// bytesOfEveryKind holds every byte, so it is no UTF-8.
func bytesOfEveryKind(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i) ^ byte(i>>8)
	}
	return b
}

func TestBytesAndTextOfEverySize(t *testing.T) {
	sharedSet(t)
	t.Parallel()
	rs := tarantooltest.Start(t, tarantooltest.Instances(1), tarantooltest.Cfg(map[string]any{"memtx_max_tuple_size": 48 << 20}))
	db, _ := openDSN(t, rs.DSN())
	mustExec(t, db, "CREATE TABLE BLOBS (ID INTEGER PRIMARY KEY, V VARBINARY, S STRING)")
	for _, n := range []int{0, 1, 31, 32, 255, 256, 1<<16 - 1, 1 << 16, 1 << 20, 16 << 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			in := bytesOfEveryKind(n)
			mustExec(t, db, "INSERT INTO BLOBS VALUES (?, ?, ?)", n, in, string(in))
			rows, err := db.QueryContext(t.Context(), "SELECT V, S FROM BLOBS WHERE ID = ?", n)
			require.NoError(t, err)
			defer rows.Close()
			require.True(t, rows.Next())
			var (
				raw       sql.RawBytes
				anyV      any
				anyS      any
				copied    []byte
				text      string
				textBytes []byte
			)
			require.NoError(t, rows.Scan(&anyV, &anyS))
			assert.True(t, bytes.Equal(in, anyV.([]byte)), "VARBINARY as any")
			assert.True(t, string(in) == anyS.(string), "STRING as any")
			require.NoError(t, rows.Scan(&copied, &textBytes))
			assert.True(t, bytes.Equal(in, copied) && bytes.Equal(in, textBytes), "both as []byte")
			assert.NotNil(t, copied, "empty is not NULL")
			require.NoError(t, rows.Scan(&raw, &text)) // what has been scanned into RawBytes is not scanned again
			assert.True(t, bytes.Equal(in, raw), "VARBINARY as RawBytes")
			assert.True(t, string(in) == text, "STRING as string")
			assert.False(t, rows.Next())
			require.NoError(t, rows.Err())
			assert.Equal(t, n, value[int](t, db, "SELECT LENGTH(V) FROM BLOBS WHERE ID = ?", n))
		})
	}
	_, err := db.ExecContext(t.Context(), "INSERT INTO BLOBS VALUES (-1, ?, NULL)", make([]byte, 64<<20))
	assert.ErrorContains(t, err, "memtx_max_tuple_size")
	assert.Equal(t, 1, value[int](t, db, "SELECT 1"), "the connection goes on")
}

func TestTextNeedNotBeUTF8(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	name := table(t, rs, "S STRING PRIMARY KEY, X SCALAR")
	for _, text := range []string{"", "\x00", "a\x00b", "\xff\xfe", "\xc3\x28", "\xed\xa0\x80", "grün", "日本", "\U0001F600", "it's \"quoted\" \\ ?", ":a $1 @b -- /*"} {
		assert.Equal(t, text, value[any](t, db, "SELECT ?", text), "%q", text)
		mustExec(t, db, "INSERT INTO "+name+" VALUES (?, ?)", text, text)
		var s, x any
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT S, X FROM "+name+" WHERE S = ?", text).Scan(&s, &x))
		assert.Equal(t, []any{text, text}, []any{s, x}, "%q", text)
	}
}

func TestEmptyIsNotNULL(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, S STRING, V VARBINARY")
	mustExec(t, db, "INSERT INTO "+name+" VALUES (?, ?, ?), (?, ?, ?)", 1, "", []byte{}, 2, nil, []byte(nil))
	for id, want := range map[int][]any{1: {"", []byte{}}, 2: {nil, nil}} {
		var s, v any
		var null, nullV bool
		row := db.QueryRowContext(t.Context(), "SELECT S, V, S IS NULL, V IS NULL FROM "+name+" WHERE ID = ?", id)
		require.NoError(t, row.Scan(&s, &v, &null, &nullV))
		assert.Equal(t, want, []any{s, v})
		assert.Equal(t, id == 2, null && nullV)
		var b []byte
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT V FROM "+name+" WHERE ID = ?", id).Scan(&b))
		assert.Equal(t, id == 2, b == nil)
	}
	if !rs.AtLeast(2, 10, 0) {
		return
	}
	for _, empty := range []any{[]any{}, map[string]any{}} {
		assert.Equal(t, empty, value[any](t, db, "SELECT :v", sql.Named("v", empty)))
	}
}

func TestIntervalsKeepTheirFields(t *testing.T) {
	newTypes(t)
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, I INTERVAL")
	for id, in := range []tntsql.Interval{
		{}, {Year: 1}, {Month: -1}, {Week: 3}, {Day: -4}, {Hour: 5}, {Min: -6}, {Sec: 7}, {Nsec: -8},
		{Year: 1, Month: 2, Week: 3, Day: 4, Hour: 5, Min: 6, Sec: 7, Nsec: 8, Adjust: tntsql.AdjustLast},
		{Month: 1, Adjust: tntsql.AdjustExcess}, {Nsec: math.MaxInt32}, {Nsec: math.MinInt32},
	} {
		mustExec(t, db, "INSERT INTO "+name+" VALUES (?, ?)", id, in)
		assert.Equal(t, in, value[tntsql.Interval](t, db, "SELECT I FROM "+name+" WHERE ID = ?", id))
		assert.Equal(t, sql.Null[tntsql.Interval]{V: in, Valid: true}, value[sql.Null[tntsql.Interval]](t, db, "SELECT ?", in))
	}
	end := time.Date(2024, 1, 31, 0, 0, 0, 0, time.UTC)
	for adjust, want := range map[int]time.Time{
		tntsql.AdjustNone:   time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		tntsql.AdjustExcess: time.Date(2024, 3, 2, 0, 0, 0, 0, time.UTC),
		tntsql.AdjustLast:   time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
	} {
		assert.Equal(t, want, value[time.Time](t, db, "SELECT ? + ?", end, tntsql.Interval{Month: 1, Adjust: adjust}), "adjust %d", adjust)
	}
}
