package tntsql

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/wire"
	"github.com/tntsql/tntsql/pool"
)

// sessionSettings are the settings of the DSN that belong to a connection, as
// the statements that apply them.
type sessionSettings struct {
	logger     *slog.Logger
	statements []string

	mu     sync.Mutex
	known  map[string]bool // by some server
	warned map[string]bool
}

// seqScan is the session setting behind the parameter seq_scan, which is the
// server's own default before 3.0.
const seqScan = "sql_seq_scan"

// fullMetadata is the one behind the parameter full_metadata.
const fullMetadata = "sql_full_metadata"

func newSessionSettings(cfg *Config, logger *slog.Logger) *sessionSettings {
	settings := make(map[string]any)
	maps.Copy(settings, cfg.Session)
	if cfg.SeqScan != nil {
		settings[seqScan] = *cfg.SeqScan
	}
	if cfg.FullMetadata {
		settings[fullMetadata] = true
	}
	s := &sessionSettings{logger: logger, known: make(map[string]bool), warned: make(map[string]bool)}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		s.statements = append(s.statements, fmt.Sprintf(`SET SESSION "%s" = %s`, name, literal(settings[name])))
	}
	return s
}

func literal(v any) string {
	if text, ok := v.(string); ok {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return fmt.Sprint(v)
}

// apply runs the settings on a new connection. A server that does not know one
// goes without it, and a warning says so once, as servers differ. A setting that
// no server has known is an error.
func (s *sessionSettings) apply(ctx context.Context, conn *wire.Conn) error {
	for _, text := range s.statements {
		body, err := iproto.AppendExecute(nil, text, nil, conn.Greeting().Version)
		if err != nil {
			return err
		}
		reply, err := conn.Do(ctx, protocol.IPROTO_EXECUTE, body)
		if err != nil {
			return err
		}
		switch protocol.Error(reply.Code) {
		case 0:
			s.learn(text)
		case protocol.ER_NO_SUCH_SESSION_SETTING:
			if err := s.unknown(text, conn.Greeting().Version); err != nil {
				return err
			}
		case protocol.ER_LOADING:
			return iproto.ParseError(reply.Code, reply.Body)
		default:
			return &pool.SettingsError{Err: fmt.Errorf("%s: %w", text, iproto.ParseError(reply.Code, reply.Body))}
		}
	}
	return nil
}

func (s *sessionSettings) learn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[text] = true
}

func (s *sessionSettings) unknown(text string, v iproto.Version) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known[text] && !strings.Contains(text, seqScan) {
		return &pool.SettingsError{Err: fmt.Errorf("%s: Tarantool %v has no such setting", text, v)}
	}
	if !s.warned[text] {
		s.warned[text] = true
		s.logger.Warn("the server does not know a session setting", "statement", text, "version", v)
	}
	return nil
}
