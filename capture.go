package tntsql

import (
	"context"
	"time"
)

// Info is how the latest statement or call under a context of Capture was
// served, whether it failed or not.
type Info struct {
	Instance InstanceRef // the last that it was sent to
	Mode     Mode
	Kind     Kind
	// GeneratedIDs are all ids that an INSERT generated, in the order of its
	// rows.
	GeneratedIDs []int64
	// Autoincrement tells of each column of a query whether it generates ids; nil
	// without full_metadata in the DSN. sql.ColumnType has no place for it.
	Autoincrement []bool
	Attempts      int           // how often it was sent
	Wait          time.Duration // for an instance of its mode
	Duration      time.Duration // of the whole, Wait included
}

type captureKey struct{}

// Capture returns a context that reports to Info. Info is written before the
// statement returns; one such context must not serve two statements at a time.
func Capture(ctx context.Context) (context.Context, *Info) {
	info := new(Info)
	return context.WithValue(ctx, captureKey{}, info), info
}

func infoFrom(ctx context.Context) *Info {
	info, _ := ctx.Value(captureKey{}).(*Info)
	return info
}
