package faults

import (
	"database/sql"
	"errors"
	"log/slog"
	"runtime/pprof"
	"strings"

	"github.com/tntsql/tntsql"
)

// canaryScenario has the driver say all that it can, and then looks through everything
// that was said in all scenarios: errors, logs, topologies, and what the suite printed.
var canaryScenario = Scenario{
	Name:     "canary",
	What:     "all that the driver said in the other scenarios, and a Config in all forms, is searched for the password",
	Promises: []Promise{Secret},
	Run: func(t *Trial) error {
		heard := t.Options.Heard
		cfg, err := tntsql.ParseDSN("tarantool://" + user + ":" + password + "@127.0.0.1:1/?selection_timeout=0s")
		if err != nil {
			return err
		}
		t.sayConfig(cfg)
		for _, broken := range brokenDSNs {
			_, err := sql.Open("tarantool", strings.ReplaceAll(broken, "PASSWORD", password))
			t.Count(1, 0)
			if err == nil {
				t.Violation(Secret, "a broken DSN was opened: %s", broken)
				continue
			}
			heard.Error(err)
			for ; err != nil; err = errors.Unwrap(err) {
				heard.Error(err)
			}
		}
		if err := t.sayGoroutines(cfg); err != nil {
			return err
		}
		bytes, found := heard.Found()
		t.Note("%d KiB of texts were searched", bytes>>10)
		for _, text := range found {
			t.Violation(Secret, "a text shows the password: %q", strings.ReplaceAll(text, password, "******"))
		}
		return nil
	},
}

// sayConfig says a Config in every way that fmt, log/slog and panics know.
func (t *Trial) sayConfig(cfg *tntsql.Config) {
	heard := t.Options.Heard
	for _, value := range []any{cfg, *cfg, []*tntsql.Config{cfg}, map[string]any{"cfg": cfg}, struct{ C *tntsql.Config }{cfg}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
			heard.Say(verb, value)
		}
		slog.New(slog.NewTextHandler(heard, nil)).Info("config", "cfg", value)
		slog.New(slog.NewJSONHandler(heard, nil)).Info("config", "cfg", value)
		func() {
			defer func() { heard.Say("panic: %v", recover()) }()
			panic(value)
		}()
		t.Count(1, 0)
	}
}

// sayGoroutines says what the handle's objects look like, and the stacks that a crash
// would print, while it tries to connect.
func (t *Trial) sayGoroutines(cfg *tntsql.Config) error {
	db, connector, err := t.Open(cfg)
	if err != nil {
		return err
	}
	err = db.QueryRow("SELECT 1").Scan(new(int))
	t.Options.Heard.Error(err)
	for _, value := range []any{connector, connector.Topology(), connector.Driver(), connector.Stats(), db} {
		t.Options.Heard.Say("%v %+v %#v", value, value, value)
	}
	return pprof.Lookup("goroutine").WriteTo(t.Options.Heard, 2)
}

// brokenDSNs have a password where it belongs, or where one gets that is not encoded.
var brokenDSNs = []string{
	"tarantool://app:PASSWORD@",
	"tarantool://app:PASSWORD@h:port/",
	"tarantool://app:PASSWORD@h:99999/",
	"tarantool://app:PASSWORD@h/db",
	"tarantool://app:PASSWORD@h/?read_mode=PASSWORD",
	"tarantool://app:PASSWORD@h/?password=PASSWORD",
	"tarantool://app:PASSWORD%zz@h/",
	"tarantool://app:PASSWORD/x@h/",
	"tarantool://app:PASSWORD@x@h/",
	"tarantool://app:PASSWORD#x@h/",
	"tarantool://app:PASSWORD?x@h/",
	"postgres://app:PASSWORD@h/",
	"app:PASSWORD@h:3301",
	"tarantool://app:PASSWORD",
	"tarantool://PASSWORD%zz",
	"tarantool://app:x/PASSWORD",
	"tarantool://app:x/y/PASSWORD",
	"tarantool://app:x?PASSWORD=1",
	"tarantool://app:x?PASSWORD",
	"tarantool://app:x#PASSWORD",
}
