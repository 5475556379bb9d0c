package failover

import (
	"errors"
	"fmt"
	"time"
)

var rollingRestart = Scenario{
	Name: "rolling-restart",
	What: "every instance is restarted with SIGTERM, the master last and in its place",
	Disturb: func(t *Trial) error {
		return t.rolling(t.Set.Restart)
	},
	Promises: []Promise{readsWithoutError, restartsUnnoticed, nothingLost},
}

var rollingUpgrade = Scenario{
	Name:     "rolling-upgrade",
	What:     "every instance of a 2.11 is restarted as a 3.x, the master last and in its place",
	Needs:    upgradable,
	Upgrades: true,
	Disturb: func(t *Trial) error {
		newer, err := ServerOf(t.Options.UpgradeTo)
		if err != nil {
			return err
		}
		t.Note("to %s", newer)
		return t.rolling(func(i int) error { return t.Set.RestartWith(i, t.Options.UpgradeTo) })
	},
	Promises: []Promise{readsWithoutError, restartsUnnoticed, nothingLost},
}

func upgradable(s Server) string {
	if s.AtLeast(2, 11) && !s.AtLeast(3, 0) {
		return ""
	}
	return "an upgrade begins with 2.11"
}

// rolling restarts all instances, the master last.
func (t *Trial) rolling(restart func(int) error) error {
	for i := t.Set.Len() - 1; i >= 0; i-- {
		err := t.During(fmt.Sprintf("restart of instance %d", i), func() error {
			return errors.Join(restart(i), t.load.goesOn())
		})
		if err != nil {
			return err
		}
		t.Rest(time.Second)
	}
	return nil
}

// restartsUnnoticed: servers since 2.10 tell their clients that they shut down,
// and finish what is in flight; older ones close the connections.
func restartsUnnoticed(r *Result) string {
	if !r.Server.AtLeast(2, 10) {
		return onlyUnknown(r)
	}
	return writesWithoutError(r)
}
