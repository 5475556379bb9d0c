package itest

import (
	"context"
	"database/sql"
	"math"
	"testing"

	"github.com/XSAM/otelsql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tntsql/tntsql"
)

// tracing returns the options of a wrapper whose spans are kept in memory.
// The spans of database/sql's housekeeping are left out.
func tracing(t *testing.T) ([]otelsql.Option, *tracetest.InMemoryExporter) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	t.Cleanup(func() { assert.NoError(t, provider.Shutdown(context.Background())) })
	return []otelsql.Option{
		otelsql.WithTracerProvider(provider),
		otelsql.WithSpanOptions(otelsql.SpanOptions{
			Ping:                 true,
			OmitConnectorConnect: true,
			OmitConnResetSession: true,
		}),
	}, spans
}

// openTraced opens a handle through otelsql.
func openTraced(t *testing.T, more ...otelsql.Option) (*sql.DB, *tracetest.InMemoryExporter) {
	t.Helper()
	options, spans := tracing(t)
	db, err := otelsql.Open(tntsql.DriverName, dsn(), append(options, more...)...)
	require.NoError(t, err)
	closeAfter(t, db)
	return db, spans
}

// names are the names of the spans, in the order in which they ended.
func names(spans tracetest.SpanStubs) []otelsql.Method {
	var out []otelsql.Method
	for _, span := range spans {
		out = append(out, otelsql.Method(span.Name))
	}
	return out
}

func TestOtelsqlRecordsSpans(t *testing.T) {
	db, spans := openTraced(t)
	createTable(t, db, "traced", "id INTEGER PRIMARY KEY, name STRING")
	const (
		insert = "INSERT INTO traced VALUES (?, ?)"
		byID   = "SELECT name FROM traced WHERE id = ?"
	)
	tests := []struct {
		name string
		run  func(context.Context) error
		want []otelsql.Method
		text string // of the first span
	}{
		{
			name: "exec",
			run: func(ctx context.Context) error {
				_, err := db.ExecContext(ctx, insert, 1, "Ann")
				return err
			},
			want: []otelsql.Method{otelsql.MethodConnExec},
			text: insert,
		},
		{
			name: "query",
			run: func(ctx context.Context) error {
				var name string
				return db.QueryRowContext(ctx, byID, 1).Scan(&name)
			},
			want: []otelsql.Method{otelsql.MethodConnQuery, otelsql.MethodRows},
			text: byID,
		},
		{
			name: "prepared exec",
			run: func(ctx context.Context) error {
				stmt, err := db.PrepareContext(ctx, insert)
				if err != nil {
					return err
				}
				defer stmt.Close()
				_, err = stmt.ExecContext(ctx, 2, "Bob")
				return err
			},
			want: []otelsql.Method{otelsql.MethodConnPrepare, otelsql.MethodStmtExec},
			text: insert,
		},
		{
			name: "prepared query",
			run: func(ctx context.Context) error {
				stmt, err := db.PrepareContext(ctx, byID)
				if err != nil {
					return err
				}
				defer stmt.Close()
				var name string
				return stmt.QueryRowContext(ctx, 2).Scan(&name)
			},
			want: []otelsql.Method{otelsql.MethodConnPrepare, otelsql.MethodStmtQuery, otelsql.MethodRows},
			text: byID,
		},
		{
			name: "ping",
			run:  db.PingContext,
			want: []otelsql.Method{otelsql.MethodConnPing},
		},
		{
			name: "call",
			run: func(ctx context.Context) error {
				_, err := tntsql.Call(ctx, db, tntsql.ModeRO, "served_by")
				return err
			},
			want: []otelsql.Method{otelsql.MethodConnExec},
			text: "/* tntsql: a call, not a statement */",
		},
		{
			name: "raw, which goes past the wrapper",
			run: func(ctx context.Context) error {
				return tntsql.Raw(ctx, db, func(c *tntsql.Conn) error {
					_, err := c.Call(ctx, tntsql.ModeRO, "served_by")
					return err
				})
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spans.Reset()
			require.NoError(t, tt.run(t.Context()))
			got := spans.GetSpans()
			require.Equal(t, tt.want, names(got))
			for _, span := range got {
				assert.Equal(t, codes.Unset, span.Status.Code, span.Name)
			}
			if tt.text != "" {
				assert.Contains(t, got[0].Attributes, attribute.String("db.query.text", tt.text))
			}
		})
	}
}

func TestOtelsqlHandsErrorsOn(t *testing.T) {
	db, spans := openTraced(t)
	createTable(t, db, "traced_once", "id INTEGER PRIMARY KEY")
	const insert = "INSERT INTO traced_once VALUES (?)"
	_, err := db.ExecContext(t.Context(), insert, 1)
	require.NoError(t, err)
	stmt, err := db.PrepareContext(t.Context(), insert)
	require.NoError(t, err)
	defer stmt.Close()

	tests := map[otelsql.Method]func() (sql.Result, error){
		otelsql.MethodConnExec: func() (sql.Result, error) { return db.ExecContext(t.Context(), insert, 1) },
		otelsql.MethodStmtExec: func() (sql.Result, error) { return stmt.ExecContext(t.Context(), 1) },
	}
	for method, exec := range tests {
		t.Run(string(method), func(t *testing.T) {
			spans.Reset()
			_, err := exec()
			var answered *tntsql.Error
			require.ErrorAs(t, err, &answered)
			assert.Equal(t, "ER_TUPLE_FOUND", answered.Name)
			got := spans.GetSpans()
			require.Equal(t, []otelsql.Method{method}, names(got))
			assert.Equal(t, codes.Error, got[0].Status.Code)
		})
	}
}

// database/sql's own conversion refuses them: the driver's NamedValueChecker
// must be found beneath the wrapper.
func TestOtelsqlPassesUint64WithTheHighBit(t *testing.T) {
	db, _ := openTraced(t)
	createTable(t, db, "traced_unsigned", "id INTEGER PRIMARY KEY, u UNSIGNED")
	const (
		insert = "INSERT INTO traced_unsigned VALUES (?, ?)"
		byID   = "SELECT u FROM traced_unsigned WHERE u = ?"
	)
	insertStmt, err := db.PrepareContext(t.Context(), insert)
	require.NoError(t, err)
	defer insertStmt.Close()
	selectStmt, err := db.PrepareContext(t.Context(), byID)
	require.NoError(t, err)
	defer selectStmt.Close()

	for i, want := range []uint64{0, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64 - 1, math.MaxUint64} {
		_, err := db.ExecContext(t.Context(), insert, 2*i, want)
		require.NoError(t, err)
		_, err = insertStmt.ExecContext(t.Context(), 2*i+1, want)
		require.NoError(t, err)

		queried, err := db.QueryContext(t.Context(), byID, want)
		require.NoError(t, err)
		assert.Equal(t, []uint64{want, want}, scanAll(t, queried))
		queried, err = selectStmt.QueryContext(t.Context(), want)
		require.NoError(t, err)
		assert.Equal(t, []uint64{want, want}, scanAll(t, queried))
	}
}

func scanAll(t *testing.T, rows *sql.Rows) []uint64 {
	t.Helper()
	defer rows.Close()
	var out []uint64
	for rows.Next() {
		var u uint64
		require.NoError(t, rows.Scan(&u))
		out = append(out, u)
	}
	require.NoError(t, rows.Err())
	return out
}

func TestOtelsqlKeepsTheContext(t *testing.T) {
	db, _ := openTraced(t)
	ctx, info := tntsql.Capture(tntsql.WithMode(t.Context(), tntsql.ModeRO))
	var one int
	require.NoError(t, db.QueryRowContext(ctx, "SELECT 1").Scan(&one))
	assert.Equal(t, 1, one)
	assert.Equal(t, tntsql.KindRead, info.Kind)
	assert.NotEqual(t, masterUUID(), info.Instance.UUID)
}

// SQLCommenter puts a comment behind each text.
func TestOtelsqlSQLCommenter(t *testing.T) {
	db, spans := openTraced(t, otelsql.WithSQLCommenter(true), otelsql.WithTextMapPropagator(propagation.TraceContext{}))
	createTable(t, db, "traced_comments", "id INTEGER PRIMARY KEY")

	ctx, info := tntsql.Capture(t.Context())
	_, err := db.ExecContext(ctx, "INSERT INTO traced_comments VALUES (?)", 1)
	require.NoError(t, err)
	assert.Equal(t, tntsql.KindWrite, info.Kind)

	var id int
	require.NoError(t, db.QueryRowContext(ctx, "SELECT id FROM traced_comments WHERE id = ?", 1).Scan(&id))
	assert.Equal(t, tntsql.KindRead, info.Kind)

	_, err = tntsql.Call(ctx, db, tntsql.ModeRO, "served_by")
	require.NoError(t, err)
	assert.Equal(t, tntsql.KindCall, info.Kind)
	assert.NotEmpty(t, spans.GetSpans(), "a comment is written only where there is a span")
}

func TestOtelsqlOverAConnector(t *testing.T) {
	cfg, err := tntsql.ParseDSN(dsn())
	require.NoError(t, err)
	connector, err := tntsql.NewConnector(cfg)
	require.NoError(t, err)
	options, spans := tracing(t)
	db := otelsql.OpenDB(connector, options...)
	require.NoError(t, db.PingContext(t.Context()))
	assert.Equal(t, []otelsql.Method{otelsql.MethodConnPing}, names(spans.GetSpans()))

	require.NoError(t, db.Close())
	_, err = connector.Connect(t.Context())
	assert.ErrorIs(t, err, tntsql.ErrClosed, "closing the handle closes the Connector beneath")
}

func TestOtelsqlSpansNameTheInstance(t *testing.T) {
	db, spans := openInstanceTraced(t)
	createTable(t, db, "traced_instance", "id INTEGER PRIMARY KEY, name STRING")
	checkInstances(t, spans,
		func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, "INSERT INTO traced_instance VALUES (:id, :name)", sql.Named("id", 1), sql.Named("name", "Ann"))
			return err
		},
		func(ctx context.Context) error {
			var one int
			return db.QueryRowContext(ctx, "SELECT 1").Scan(&one)
		})
	for name, change := range map[string]func(context.Context) error{
		"batch": func(ctx context.Context) error {
			_, err := tntsql.ExecBatch(ctx, db,
				tntsql.Query{SQL: "UPDATE traced_instance SET name = ? WHERE id = ?", Args: []any{"Eve", 1}},
				tntsql.Query{SQL: "INSERT INTO traced_instance VALUES (2, 'Bob')"})
			return err
		},
		"delete": func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, "DELETE FROM traced_instance WHERE id = ?", 2)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			spans.Reset()
			require.NoError(t, change(t.Context()))
			got := spans.GetSpans()
			require.Equal(t, []otelsql.Method{otelsql.MethodConnExec}, names(got))
			assert.Equal(t, masterUUID(), instanceOf(got[0]))
		})
	}
}

func TestOtelsqlRecordsTransactions(t *testing.T) {
	needStreams(t)
	db, spans := openInstanceTraced(t)
	createTable(t, db, "traced_tx", "id INTEGER PRIMARY KEY")
	tests := map[otelsql.Method]func(*sql.Tx) error{
		otelsql.MethodTxCommit:   (*sql.Tx).Commit,
		otelsql.MethodTxRollback: (*sql.Tx).Rollback,
	}
	for end, run := range tests {
		t.Run(string(end), func(t *testing.T) {
			spans.Reset()
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			_, err = tx.ExecContext(t.Context(), "INSERT INTO traced_tx VALUES (?)", len(end))
			require.NoError(t, err)
			require.NoError(t, run(tx))
			got := spans.GetSpans()
			require.Equal(t, []otelsql.Method{otelsql.MethodConnBeginTx, otelsql.MethodConnExec, end}, names(got))
			for _, span := range got[:2] { // database/sql gives the end of a transaction no context
				assert.Equal(t, masterUUID(), instanceOf(span), span.Name)
			}
		})
	}
}
