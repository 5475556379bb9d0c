package wire

import (
	"log/slog"

	"github.com/tarantool/go-tarantool/v2"
)

// logger sends go-tarantool's own log lines, which go to standard error
// otherwise, through slog. What they report reaches callers as errors too, so
// they are at Debug; one of them comes with each late reply to a caller that
// has left.
type logger struct{ *slog.Logger }

var reports = map[tarantool.ConnLogKind]string{
	tarantool.LogReconnectFailed:      "reconnect failed",
	tarantool.LogLastReconnectFailed:  "last reconnect failed",
	tarantool.LogUnexpectedResultId:   "reply to no request",
	tarantool.LogWatchEventReadFailed: "event undecodable",
	tarantool.LogAppendPushFailed:     "push undecodable",
}

func (l logger) Report(event tarantool.ConnLogKind, _ *tarantool.Connection, _ ...any) {
	l.Debug(reports[event], "event", int(event))
}
