// Command record starts a Tarantool server, talks to it and writes what it
// answered to a transcript of package fakepeer:
//
//	go run ./internal/fakepeer/record -tarantool /usr/bin/tarantool
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/tntsql/tntsql/internal/fakepeer/transcript"
)

func main() {
	binary := flag.String("tarantool", "tarantool", "the server's `path`")
	dir := flag.String("dir", "internal/fakepeer/testdata", "the `directory` of the transcripts")
	flag.Parse()
	if err := run(*binary, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(binary, dir string) error {
	if err := os.Setenv("TARANTOOL", binary); err != nil {
		return err
	}
	t, err := record(binary)
	if err != nil {
		return err
	}
	file, err := t.Encode()
	if err != nil {
		return err
	}
	name := series(t) + ".json"
	fmt.Printf("%s: %d exchanges with Tarantool %s\n", name, len(t.Exchanges), t.Server)
	return os.WriteFile(filepath.Join(dir, name), file, 0o644) //nolint:gosec // a file of the repository
}

// series is the part of a version that names the transcript, as "2.11".
func series(t *transcript.Transcript) string {
	return regexp.MustCompile(`^\d+\.\d+`).FindString(t.Server)
}
