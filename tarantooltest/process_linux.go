package tarantooltest

import "syscall"

// processAttributes make the kernel kill the process when the forking thread
// ends, and keep a terminal's Ctrl-C from it: this process cleans up first.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitStopped waits until all threads of the child pid have stopped: for a
// moment after the signal they still answer.
func waitStopped(pid int) {
	const (
		idIsPID                    = 1          // P_PID
		exitedOrStoppedLeaveStatus = 0x01000006 // WNOWAIT | WEXITED | WSTOPPED
	)
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idIsPID, uintptr(pid), 0, exitedOrStoppedLeaveStatus, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}
