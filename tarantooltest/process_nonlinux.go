//go:build unix && !linux

package tarantooltest

import "syscall"

// processAttributes keep a terminal's Ctrl-C from the process. Here only the
// end of its standard input tells it that this process is gone, and a stopped
// instance does not notice.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

func waitStopped(int) {}
