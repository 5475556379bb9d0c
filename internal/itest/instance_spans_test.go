package itest

import (
	"context"
	"database/sql"
	"testing"

	"github.com/XSAM/otelsql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/tntsql/tntsql"
)

const (
	instanceKey = attribute.Key("tarantool.instance")
	roleKey     = attribute.Key("tarantool.role")
)

// instanceTrace writes onto the span of a statement's context which instance
// served it, and an event for each time that it was sent again.
func instanceTrace() *tntsql.Trace {
	return &tntsql.Trace{
		Done: func(ctx context.Context, info tntsql.Info, _ error) {
			trace.SpanFromContext(ctx).SetAttributes(
				instanceKey.String(info.Instance.UUID),
				roleKey.String(info.Instance.Role))
		},
		Retry: func(ctx context.Context, r tntsql.TraceRetry) {
			trace.SpanFromContext(ctx).AddEvent("sent again", trace.WithAttributes(
				instanceKey.String(r.From.UUID),
				attribute.String("reason", r.Reason)))
		},
	}
}

// openInstanceTraced opens a handle whose spans name the instance which served.
func openInstanceTraced(t *testing.T) (*sql.DB, *tracetest.InMemoryExporter) {
	t.Helper()
	cfg, err := tntsql.ParseDSN(dsn())
	require.NoError(t, err)
	cfg.Trace = instanceTrace()
	connector, err := tntsql.NewConnector(cfg)
	require.NoError(t, err)
	options, spans := tracing(t)
	db := otelsql.OpenDB(connector, options...)
	closeAfter(t, db)
	return db, spans
}

// instanceOf is the instance which a span names, or "".
func instanceOf(span tracetest.SpanStub) string {
	for _, a := range span.Attributes {
		if a.Key == instanceKey {
			return a.Value.AsString()
		}
	}
	return ""
}

// checkInstances asserts that a write was served by the master, a read under
// ModeRO by another instance, and that their spans say so.
func checkInstances(t *testing.T, spans *tracetest.InMemoryExporter, write, read func(context.Context) error) {
	t.Helper()
	for mode, statement := range map[tntsql.Mode]func(context.Context) error{tntsql.ModeRW: write, tntsql.ModeRO: read} {
		spans.Reset()
		ctx, info := tntsql.Capture(tntsql.WithMode(t.Context(), mode))
		require.NoError(t, statement(ctx))
		got := spans.GetSpans()
		require.NotEmpty(t, got, mode)
		assert.Equal(t, info.Instance.UUID, instanceOf(got[0]), mode)
		assert.Equal(t, mode == tntsql.ModeRW, instanceOf(got[0]) == masterUUID(), mode)
	}
}

// needStreams skips on servers without transactions over the network.
func needStreams(t *testing.T) {
	t.Helper()
	if !servers.AtLeast(2, 10, 0) {
		t.Skipf("Tarantool %s has no streams: transactions need 2.10", servers.Version())
	}
}
