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
//		Name: "master-hangs",
//		Do: func(c *Cluster) error {
//			i := c.Master()
//			if err := c.Set.Stop(i); err != nil {
//				return err
//			}
//			c.Rest(time.Second)
//			return c.Set.Continue(i)
//		},
//	}
//
// What is no fault under load, such as a server that lies, is a Scenario of its own: a
// function that counts its operations and tells of violations.
package faults
