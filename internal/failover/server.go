package failover

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
)

// Server is a version of Tarantool.
type Server struct {
	Version      string // such as "2.11.9"
	major, minor int
}

// AtLeast tells whether the version is major.minor or newer.
func (s Server) AtLeast(major, minor int) bool {
	return s.major > major || s.major == major && s.minor >= minor
}

func (s Server) String() string { return s.Version }

var version = regexp.MustCompile(`Tarantool (?:Enterprise )?(\d+\.\d+\.\d+)`)

// ServerOf asks a binary for its version; "" is the one that package
// tarantooltest starts: $TARANTOOL, else tarantool in PATH.
func ServerOf(binary string) (Server, error) {
	if binary == "" {
		binary = os.Getenv("TARANTOOL")
	}
	if binary == "" {
		binary = "tarantool"
	}
	out, err := exec.Command(binary, "--version").Output() //nolint:gosec // the binary is the caller's choice
	if err != nil {
		return Server{}, fmt.Errorf("%s --version: %w", binary, err)
	}
	found := version.FindSubmatch(out)
	if found == nil {
		return Server{}, fmt.Errorf("%s --version: no version in %q", binary, out)
	}
	s := Server{Version: string(found[1])}
	_, err = fmt.Sscanf(s.Version, "%d.%d", &s.major, &s.minor)
	return s, err
}
