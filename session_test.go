package tntsql_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestSessionStatementsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet)
	connectAll(t, rs, db)
	for text, advice := range map[string]string{
		"START TRANSACTION":                 "BeginTx",
		"BEGIN":                             "BeginTx",
		"start transaction;":                "BeginTx",
		"/* a comment */ COMMIT":            "BeginTx",
		"COMMIT":                            "BeginTx",
		"ROLLBACK":                          "BeginTx",
		"SAVEPOINT S":                       "outside a transaction",
		"RELEASE SAVEPOINT S":               "outside a transaction",
		"ROLLBACK TO SAVEPOINT S":           "outside a transaction",
		`SET SESSION "sql_seq_scan" = true`: "session.NAME",
		`UPDATE "_session_settings" SET "value" = true WHERE "name" = 'x'`:       "session.NAME",
		`/*+ mode=ro */ update "_session_settings" SET "value" = false`:          "session.NAME",
		`WITH X AS (SELECT 1) UPDATE "_session_settings" SET "value" = NOT true`: "session.NAME",
	} {
		t.Run(text, func(t *testing.T) {
			requireRequests(t, rs, 0, func() {
				_, err := db.ExecContext(t.Context(), text)
				assert.ErrorIs(t, err, tntsql.ErrSessionStatement)
				assert.ErrorContains(t, err, advice)
				_, err = firstValue(withMode(t, tntsql.ModeRO), db, text)
				assert.ErrorIs(t, err, tntsql.ErrSessionStatement)
			})
		})
	}
}

func TestSessionSettingsAreAppliedToEachConnection(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw", "session.sql_default_engine=vinyl")
	setting := func() (id uint64, engine string) {
		t.Helper()
		row := db.QueryRowContext(t.Context(), `SELECT SESSION_ID(), "value" FROM "_session_settings" WHERE "name" = 'sql_default_engine'`)
		require.NoError(t, row.Scan(&id, &engine))
		return id, engine
	}
	first, engine := setting()
	assert.Equal(t, "vinyl", engine)

	// A connection with an unfinished EXECUTE makes way for another.
	before := pauses(t, rs)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = db.ExecContext(ctx, "SELECT PAUSE(5)") })
	defer wg.Wait()
	defer cancel()
	eventually(t, "unfinished EXECUTE", func() bool { return pauses(t, rs) > before })
	eventually(t, "another connection", func() bool {
		var id uint64
		id, engine = setting()
		return id != first
	})
	assert.Equal(t, "vinyl", engine)
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// logged gives the DSN's Config a log.
func logged(t testing.TB, dsn string) (*tntsql.Config, *lockedBuffer) {
	t.Helper()
	cfg, err := tntsql.ParseDSN(dsn)
	require.NoError(t, err)
	log := new(lockedBuffer)
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	return cfg, log
}

func TestSeqScan(t *testing.T) {
	rs := sharedSet(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY")
	knows := rs.AtLeast(2, 11, 0) // 3.0 made false the default
	for param, allowed := range map[string]bool{
		"seq_scan=true":  true,
		"seq_scan=false": !knows,
		"read_mode=any":  !rs.AtLeast(3, 0, 0),
	} {
		t.Run(param, func(t *testing.T) {
			cfg, log := logged(t, rs.DSN(param))
			db, _ := openConfig(t, cfg)
			connectAll(t, rs, db)
			for range rs.Len() {
				_, err := firstValue(t.Context(), db, "SELECT ID FROM "+name)
				assert.Equal(t, allowed, err == nil, err)
			}
			warnings := strings.Count(log.String(), "does not know a session setting")
			if knows || param == "read_mode=any" {
				assert.Zero(t, warnings)
			} else {
				assert.Equal(t, 1, warnings, "one for all connections")
			}
		})
	}
}

func TestSettingThatNoServerKnowsFailsAtOnce(t *testing.T) {
	db, _ := openDSN(t, sharedSet(t).DSN("session.sql_no_such_thing=true"))
	requirePrompt(t, 0, 5*time.Second, func() { // a third of selection_timeout
		_, err := db.ExecContext(t.Context(), "VALUES (1)")
		require.ErrorIs(t, err, tntsql.ErrNoInstance)
		require.ErrorContains(t, err, "no such setting")
	})
}
