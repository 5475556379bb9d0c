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

// findBinary gives the absolute path of the binary: an instance is started in
// a directory of its own.
func findBinary() (string, error) {
	name, named := os.LookupEnv(binaryVariable)
	if !named || name == "" {
		name = "tarantool"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("tarantooltest: %w: %w: install Tarantool 2.6 or newer "+
			"(on Debian apt-get install tarantool, elsewhere https://www.tarantool.io/en/download/), "+
			"or set $%s to its path", ErrNoBinary, err, binaryVariable)
	}
	return filepath.Abs(path)
}

// mustHaveBinary reports whether a missing binary is a failure: where one was
// named, and in CI, where skipped tests would go unnoticed.
func mustHaveBinary() bool {
	return os.Getenv(binaryVariable) != "" || os.Getenv("CI") != ""
}
