package iproto

import (
	"errors"
	"fmt"
	"strings"
)

// greetingSize is the length of a whole greeting; its first half is the line
// that ParseGreeting reads, its second half the salt.
const greetingSize = 128

// Greeting is what a server says first on a connection.
type Greeting struct {
	Version     Version
	VersionText string // with its suffix, if it has one
	UUID        string // of the instance
}

// ParseGreeting reads the first line of a greeting, for example
// "Tarantool 2.6.0 (Binary) e3e5c7a8-…", or a whole greeting.
func ParseGreeting(line string) (Greeting, error) {
	if len(line) > greetingSize {
		return Greeting{}, fmt.Errorf("greeting of %d bytes", len(line))
	}
	line, _, _ = strings.Cut(line, "\n")
	rest, ok := strings.CutPrefix(line, "Tarantool ")
	if !ok {
		return Greeting{}, fmt.Errorf("not a Tarantool greeting: %q", line)
	}
	words := strings.Fields(rest)
	if len(words) < 2 || words[1] != "(Binary)" {
		return Greeting{}, fmt.Errorf("not a greeting of the binary protocol: %q", line)
	}
	version, ok := ParseVersion(words[0])
	if !ok {
		return Greeting{}, fmt.Errorf("greeting with an unreadable version: %q", line)
	}
	if len(words) < 3 {
		return Greeting{}, errors.New("greeting without an instance uuid")
	}
	uuid, err := ParseUUID(words[2])
	if err != nil {
		return Greeting{}, fmt.Errorf("greeting: %w", err)
	}
	return Greeting{Version: version, VersionText: words[0], UUID: uuid.String()}, nil
}
