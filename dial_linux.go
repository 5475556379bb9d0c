package tntsql

import (
	"strings"
	"syscall"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of <linux/tcp.h>, in milliseconds, which
// package syscall does not have.
const tcpUserTimeout = 18

// limitUnacknowledged has the kernel give up a connection whose bytes nobody
// acknowledges: otherwise it tries for a quarter of an hour.
func limitUnacknowledged(network, _ string, conn syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var err error
	if failed := conn.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(goneTimeout.Milliseconds()))
	}); failed != nil {
		return failed
	}
	return err
}
