package failover

import (
	"fmt"
	"slices"
	"strings"
)

// Choose picks scenarios by their names, separated by commas; "" is all of them.
func Choose[S any](all []S, name func(S) string, names string) ([]S, error) {
	if names == "" {
		return all, nil
	}
	var chosen []S
	for n := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(s S) bool { return name(s) == n })
		if i < 0 {
			return nil, fmt.Errorf("no scenario %q: -list prints them", n)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
