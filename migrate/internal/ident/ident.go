// Package ident writes identifiers of SQL. It is for the modules below migrate,
// older releases of which must build with it.
package ident

import "strings"

// Quote writes a name so that the server takes it as it is. Names that are not
// quoted are upper-cased by servers before 3.0.
func Quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
