package main

import (
	"errors"
	"log/slog"
	"os"
	"regexp"
	"strings"

	"github.com/tntsql/tntsql"
)

const (
	dsnVariable      = "TNTSQL_DSN"
	passwordVariable = "TNTSQL_PASSWORD"

	modeUsage = "which instances may serve it: any, rw (the master), ro (a replica), prefer_rw, prefer_ro (default: the DSN's read_mode)"
)

var schemePrefix = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// isDSN tells a DSN from SQL: no statement begins with a scheme.
func isDSN(arg string) bool { return schemePrefix.MatchString(arg) }

// config is what the argument or TNTSQL_DSN says, with the password from its place. An
// empty argument is none.
func (t *tool) config(arg string) (*tntsql.Config, error) {
	if hasPassword(arg) {
		return nil, usagef("DSN: a password in an argument can be read in the list of processes: " +
			"leave it out there and set " + passwordVariable + " or --password-file, or put the whole DSN in " + dsnVariable)
	}
	dsn := arg
	if dsn == "" {
		dsn = t.getenv(dsnVariable)
	}
	if dsn == "" {
		return nil, usagef("no DSN: give one, such as tarantool://app@10.0.0.1,10.0.0.2/, or set " + dsnVariable)
	}
	cfg, err := tntsql.ParseDSN(dsn)
	if err != nil {
		return nil, usageError{err}
	}
	if err := t.setPassword(cfg); err != nil {
		return nil, err
	}
	if t.verbose {
		cfg.Logger = slog.New(slog.NewTextHandler(t.err, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return cfg, nil
}

// hasPassword looks for one in a text that may be no valid DSN: what stands before the
// last "@" may be a part of the password.
func hasPassword(arg string) bool {
	_, rest, _ := strings.Cut(arg, "://")
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return false
	}
	_, password, found := strings.Cut(rest[:at], ":")
	return found && password != ""
}

func (t *tool) setPassword(cfg *tntsql.Config) error {
	source := passwordVariable
	password := t.getenv(passwordVariable)
	if t.passwordFile != "" {
		source = "--password-file"
		content, err := os.ReadFile(t.passwordFile)
		if err != nil {
			return usagef("--password-file: %w", err)
		}
		line, _, _ := strings.Cut(string(content), "\n")
		if password = strings.TrimSuffix(line, "\r"); password == "" {
			return usagef("--password-file: the first line is empty")
		}
	}
	if password == "" {
		return nil
	}
	if cfg.User == "" {
		return usagef("%s is set, and the DSN has no user: tarantool://user@host/", source)
	}
	cfg.Password = password
	return nil
}

// connector opens a handle on the cluster of the DSN. The caller closes it.
func connector(cfg *tntsql.Config) (*tntsql.Connector, error) {
	c, err := tntsql.NewConnector(cfg)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// parseMode reads a --mode. The empty one is 0: as the DSN has it.
func parseMode(name string) (tntsql.Mode, error) {
	if name == "" {
		return 0, nil
	}
	m, err := tntsql.ParseMode(strings.ToLower(name))
	if err != nil {
		return 0, usagef("--mode %q: %w", name, errors.Unwrap(err))
	}
	return m, nil
}
