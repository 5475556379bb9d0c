//go:build !linux

package tntsql

import "syscall"

// limitUnacknowledged does nothing: other systems have their own limit.
func limitUnacknowledged(string, string, syscall.RawConn) error { return nil }
