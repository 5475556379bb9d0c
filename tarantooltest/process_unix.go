//go:build unix

package tarantooltest

import "syscall"

func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	waitStopped(p.cmd.Process.Pid)
	return nil
}

func (p *process) resume() error {
	return p.cmd.Process.Signal(syscall.SIGCONT)
}

func (p *process) terminate() error {
	return p.cmd.Process.Signal(syscall.SIGTERM)
}
