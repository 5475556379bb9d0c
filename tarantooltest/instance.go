package tarantooltest

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

//go:embed instance.lua
var instanceLua []byte

var (
	errNotRunning = errors.New("not running")
	errRunning    = errors.New("already running")
	errStopped    = errors.New("stopped: Continue it first")
)

// An instance is one member of the replica set over all its runs.
type instance struct {
	index int
	dir   string

	// Set by its first start, and the same in all later ones.
	address string
	uuid    string

	mu      sync.Mutex
	binary  string
	process *process
	stopped bool
}

func newInstance(index int, dir, binary string) (*instance, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "instance.lua")
	return &instance{index: index, dir: dir, binary: binary}, os.WriteFile(script, instanceLua, 0o600)
}

// spawn starts the process, in which nothing is configured yet.
func (in *instance) spawn(s *spawner) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.process != nil && in.process.running() {
		return errRunning
	}
	// The socket of a killed process is still there, and nobody answers on it.
	if err := os.RemoveAll(filepath.Join(in.dir, controlSocket)); err != nil {
		return err
	}
	p, err := s.start(in.binary, "instance.lua", in.dir, in.logFile())
	if err != nil {
		return err
	}
	in.process, in.stopped = p, false
	return nil
}

// use makes its next start one of another binary.
func (in *instance) use(binary string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.binary = binary
}

func (in *instance) running() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.process != nil && in.process.running()
}

// answering gives the process if it runs and is not stopped.
func (in *instance) answering() (*process, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.process == nil || !in.process.running():
		return nil, errNotRunning
	case in.stopped:
		return nil, errStopped
	}
	return in.process, nil
}

// call runs a function of instance.lua.
func (in *instance) call(ctx context.Context, function string, args ...any) ([]any, error) {
	return in.lua(ctx, "return require('tarantooltest')."+function+"(...)", args)
}

// boot configures the instance as instance.lua says, and gives its uuid.
func (in *instance) boot(ctx context.Context, params map[string]any) (string, error) {
	params["timeout"] = timeoutOf(ctx)
	values, err := in.call(ctx, "boot", params)
	if err != nil {
		return "", err
	}
	return values[0].(string), nil
}

func (in *instance) writable(ctx context.Context) bool {
	values, err := in.call(ctx, "writable")
	return err == nil && values[0] == true
}

// Ports are taken from below the range that systems give to outgoing
// connections: a client that dials the port of a killed instance again and
// again would some day get that port itself, and be connected to itself.
const (
	minPort = 15000
	maxPort = 32000
)

// listen makes the instance listen on its address, a free port the first time.
func (in *instance) listen(ctx context.Context) error {
	if in.address != "" {
		_, err := in.call(ctx, "listen", in.address)
		return err
	}
	for {
		address := fmt.Sprintf("127.0.0.1:%d", minPort+rand.IntN(maxPort-minPort))
		_, err := in.call(ctx, "listen", address)
		if err == nil {
			in.address = address
			return nil
		}
		// A port that is taken: 2.6 does not say why it cannot be had.
		if text := err.Error(); !strings.Contains(text, "in use") && !strings.Contains(text, "failed to bind") {
			return err
		}
	}
}

func (in *instance) kill() {
	in.mu.Lock()
	p := in.process
	in.mu.Unlock()
	if p != nil {
		p.kill()
	}
}

// shutdown ends the process gracefully.
func (in *instance) shutdown(ctx context.Context) error {
	p, err := in.answering()
	if err != nil {
		return err
	}
	if err := p.terminate(); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("still running after SIGTERM: %w", ctx.Err())
	}
}

func (in *instance) stop() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.process == nil || !in.process.running() {
		return errNotRunning
	}
	in.stopped = true
	return in.process.stop()
}

func (in *instance) resume() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.process == nil || !in.process.running() {
		return errNotRunning
	}
	in.stopped = false
	return in.process.resume()
}

func (in *instance) state() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.process == nil:
		return "not started"
	case in.process.running() && in.stopped:
		return "stopped"
	}
	return in.process.state()
}

func (in *instance) logFile() string {
	return filepath.Join(in.dir, "log")
}

// logTail is the end of the log in whole lines, with what a reader needs to
// know about the instance above it.
func (in *instance) logTail() string {
	const most = 16 << 10
	log, err := os.ReadFile(in.logFile())
	if err != nil {
		return err.Error()
	}
	if len(log) > most {
		log = log[len(log)-most:]
		log = log[bytes.IndexByte(log, '\n')+1:]
	}
	return fmt.Sprintf("log of instance %d (%s, %s):\n%s", in.index, in.address, in.state(), log)
}

// failed says which instance the error is from.
func (in *instance) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("tarantooltest: instance %d: %w", in.index, err)
}

// failedWithLog is failed where only the log tells why.
func (in *instance) failedWithLog(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\n%s", in.failed(err), in.logTail())
}

// timeoutOf is how many seconds are left for Lua to wait itself, so that its
// error, which says for what, is there before the context ends.
func timeoutOf(ctx context.Context) float64 {
	deadline, ok := ctx.Deadline()
	if !ok {
		return luaTimeout.Seconds()
	}
	return max(0.1, (time.Until(deadline) - time.Second/2).Seconds())
}
