//go:build !unix

package tarantooltest

import (
	"errors"
	"syscall"
)

// Tarantool does not run here: this keeps tests that import the package
// building, and skipping.

func processAttributes() *syscall.SysProcAttr { return nil }

func (p *process) stop() error      { return errors.ErrUnsupported }
func (p *process) resume() error    { return errors.ErrUnsupported }
func (p *process) terminate() error { return errors.ErrUnsupported }
