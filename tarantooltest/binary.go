package tarantooltest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrNoBinary is what New's error wraps when there is no tarantool to start.
var ErrNoBinary = errors.New("no tarantool binary")

// binaryVariable is the environment variable that names the binary.
const binaryVariable = "TARANTOOL"

// findBinary gives the absolute path of the binary.
func findBinary() (string, error) {
	name, named := os.LookupEnv(binaryVariable)
	if !named || name == "" {
		name = "tarantool"
	}
	path, err := absoluteBinary(name)
	if err != nil {
		return "", fmt.Errorf("tarantooltest: %w: %w: install Tarantool 2.6 or newer "+
			"(on Debian apt-get install tarantool, elsewhere https://www.tarantool.io/en/download/), "+
			"or set $%s to its path", ErrNoBinary, err, binaryVariable)
	}
	return path, nil
}

// absoluteBinary looks a binary up in PATH unless it is a path already. An
// instance is started in a directory of its own, so the result is absolute.
func absoluteBinary(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// mustHaveBinary reports whether a missing binary is a failure: where one was
// named, and in CI, where skipped tests would go unnoticed.
func mustHaveBinary() bool {
	return os.Getenv(binaryVariable) != "" || os.Getenv("CI") != ""
}
