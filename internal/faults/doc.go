// Package faults does to real replica sets, networks and callers what goes wrong in
// production, and checks what the driver promises for it.
//
// A Scenario is a test of some Promises. Run runs one against a server; the command
// faults runs them all, prints the figures, and writes docs/reliability.md.
//
// A Fault is what most scenarios are made of: something is broken, kept so for a
// moment, and mended, while a load goes on whose whole history is checked afterwards.
// Each of Faults is shown alone and in random sequences. A new one is a value, named in
// Faults:
//
//	var masterHangs = Fault{
//		Name: "SIGSTOP of the master for 1 s",
//		Do: func(c *Cluster) error {
//			i := c.Master()
//			if c.elects {
//				defer c.load.mayLose()()
//			}
//			if err := c.Set.Stop(i); err != nil {
//				return err
//			}
//			c.Rest(time.Second)
//			return errors.Join(c.Set.Continue(i), c.load.goesOn())
//		},
//	}
//
// It ends with everything mended, by its own means: the next one follows at once. Where
// a master may change without having all that the former one acknowledged, as in any
// election, asynchronous spaces may lose writes in between, and sessions with them: the
// fault says so by mayLose. Its error is of the run; that the load stands still, for
// which it may wait by goesOn, is a violation. It is shown by itself, as often as
// wanted, by
//
//	make faults FAULTS="-run alone,random -fault 'SIGSTOP of the master'"
//
// What is no fault under load, such as a server that lies, is a Scenario of its own,
// named in Scenarios: a function that counts its operations by Trial.Count and tells of
// violations by Trial.Violation. What it opens it hands to Trial.Closing, or opens by
// Trial.Start and Trial.Open. Both are tested by lines in scenario_test.go.
package faults
