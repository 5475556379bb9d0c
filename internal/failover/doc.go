// Package failover shows what the callers of one sql.DB notice of a failover.
//
// A Scenario disturbs a real replica set while 32 writers and 32 readers use
// it. Every request is counted with its whole wait, every write has an id of its
// own, and each acknowledged one is looked for on every instance afterwards. Run
// runs a scenario; the command failover-report runs them all and prints a table.
//
// A new scenario is a value in a file of its own, named in Scenarios:
//
//	var masterStops = Scenario{
//		Name: "master-stops",
//		What: "the master hangs for a second",
//		Disturb: func(t *Trial) error {
//			return t.During("hung", func() error {
//				if err := t.Set.Stop(0); err != nil {
//					return err
//				}
//				t.Rest(time.Second)
//				return t.Set.Continue(0)
//			})
//		},
//		Promises: []Promise{readsWithoutError, writesWithoutError},
//	}
package failover
