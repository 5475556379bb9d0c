package iproto

import (
	"database/sql/driver"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The seeds in testdata are replies of real servers of the versions they are
// named after.

func FuzzParseExecute(f *testing.F) {
	columns := NewColumnCache(1<<20, true)
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = ParsePrepare(body, columns)
		HasError(body)
		r, err := ParseExecute(body, columns)
		if err != nil {
			require.Zero(t, r)
			return
		}
		if r.Columns == nil {
			return
		}
		require.LessOrEqual(t, r.Len(), len(body))
		row := make([]driver.Value, len(r.Columns.Names))
		for left := r.Len(); ; left-- {
			err := r.Next(row)
			if err == io.EOF {
				require.Zero(t, left)
				return
			}
			if err != nil {
				require.Equal(t, left, r.Len())
				return
			}
			for _, v := range row {
				requireValue(t, v)
			}
		}
	})
}

// requireValue sees that v is of a type that values of rows have.
func requireValue(t *testing.T, v any) {
	switch v := v.(type) {
	case nil, bool, int64, uint64, float64, string, time.Time, Interval:
	case []byte:
		require.Equal(t, len(v), cap(v))
	case []any:
		for _, element := range v {
			requireValue(t, element)
		}
	case map[string]any:
		for _, element := range v {
			requireValue(t, element)
		}
	case map[any]any:
		for key, element := range v {
			requireValue(t, key)
			requireValue(t, element)
		}
	default:
		t.Fatalf("a value of type %T", v)
	}
}

func FuzzParseError(f *testing.F) {
	f.Fuzz(func(t *testing.T, code uint32, body []byte) {
		err := ParseError(code, body)
		require.NotNil(t, err)
		require.NotEmpty(t, err.Message)
		require.NotEmpty(t, err.Error())
		for _, frame := range err.Stack {
			requireValue(t, frame.Fields)
		}
	})
}

func FuzzParseBallot(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		ballot, err := ParseBallot(body)
		if err != nil {
			require.Zero(t, ballot)
			require.ErrorIs(t, err, ErrMalformed)
		}
	})
}

func FuzzParseData(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		info, err := ParseBoxInfo(body)
		if err != nil {
			require.Zero(t, info)
		}
		require.LessOrEqual(t, len(info.Peers), maxPeers)
		values, err := ParseData(body)
		if err == nil {
			requireValue(t, values)
		}
		var (
			anything any
			typed    struct {
				ID   int64
				Name *string
				At   time.Time
				List []any
				Map  map[string]int
				UUID UUID
				Cost Decimal
				Span Interval
			}
			ints []uint8
		)
		if n := len(values); n > 0 {
			_ = DecodeData(body, []any{&anything, &typed, &ints}[:min(n, 3)]...)
			_ = DecodeData(body, &typed)
			require.NoError(t, DecodeData(body, &anything))
		}
	})
}

func FuzzParseHeader(f *testing.F) {
	f.Fuzz(func(t *testing.T, frame []byte) {
		header, bodyAt, err := ParseHeader(frame)
		if err != nil {
			require.ErrorIs(t, err, ErrMalformed)
			require.Zero(t, header)
			return
		}
		require.LessOrEqual(t, bodyAt, len(frame))
		// A header is one value, however it is read.
		n, err := Skip(frame, 1)
		require.NoError(t, err)
		require.Equal(t, bodyAt, n)
	})
}

func FuzzSkip(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte, depth int) {
		depth = min(depth, 1000)
		n, err := Skip(b, depth)
		if err != nil {
			require.ErrorIs(t, err, ErrMalformed)
			require.Zero(t, n)
			return
		}
		require.Positive(t, n)
		require.LessOrEqual(t, n, len(b))
		// What comes behind a value does not matter, what it is made of does.
		again, err := Skip(b[:n], depth)
		require.NoError(t, err)
		require.Equal(t, n, again)
		_, err = Skip(b[:n-1], depth)
		require.Error(t, err)
	})
}

func FuzzParseGreeting(f *testing.F) {
	f.Fuzz(func(t *testing.T, line string) {
		greeting, err := ParseGreeting(line)
		if err != nil {
			require.Zero(t, greeting)
			require.Less(t, len(err.Error()), 1000)
			return
		}
		id, err := ParseUUID(greeting.UUID)
		require.NoError(t, err)
		require.Equal(t, greeting.UUID, id.String())
		again, err := ParseGreeting("Tarantool " + greeting.VersionText + " (Binary) " + greeting.UUID)
		require.NoError(t, err)
		require.Equal(t, greeting, again)
	})
}
