package tarantooltest

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
)

var errClosed = errors.New("the replica set is closed")

// A spawner starts processes that do not outlive this one. The kernel's signal
// at the death of a parent (Linux) is bound to the thread that forked, so all
// are forked from one thread, kept until the last of them is gone.
type spawner struct {
	mu     sync.Mutex
	closed bool
	work   chan func()
	live   sync.WaitGroup
	done   chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread()
		// A goroutine that ends locked would end the thread with it.
		defer runtime.UnlockOSThread()
		for f := range s.work {
			f()
		}
	}()
	return s
}

// start runs the binary with a script in dir. Its output is appended to log.
func (s *spawner) start(binary, script, dir, log string) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close() //nolint:errcheck // the instance writes to it, not this process

	cmd := exec.Command(binary, script)
	cmd.Dir = dir
	// Since 2.8 a TT_* variable sets an option of box.cfg.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TT_") })
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = processAttributes()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}

	started := make(chan error)
	s.work <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stdin: stdin, exited: make(chan struct{})}
	s.live.Go(func() {
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
		close(p.exited)
	})
	return p, nil
}

// close waits for all processes to be gone, and refuses to start new ones.
func (s *spawner) close(kill func()) {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	kill()
	s.live.Wait()
	if !again {
		close(s.work)
	}
	<-s.done
}

// A process is one run of an instance.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer // held open: its end tells the instance that this process is gone
	exited chan struct{}
}

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// kill ends the process, stopped or not, and waits until it is reaped.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.exited
}

// state is the process's end in words, "running" before.
func (p *process) state() string {
	if p.running() {
		return "running"
	}
	return p.cmd.ProcessState.String()
}
