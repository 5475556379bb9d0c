package faults

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A record has the last result of each scenario with each server, a line each. It is kept
// beside the page, which is written from it: what takes an hour is run by itself, and the
// page still has all figures.

// MarshalText is the name.
func (s Scenario) MarshalText() ([]byte, error) { return []byte(s.Name), nil }

// UnmarshalText takes a name alone: readRecord finds the scenario.
func (s *Scenario) UnmarshalText(name []byte) error {
	s.Name = string(name)
	return nil
}

// readRecord reads the results of earlier runs: none if there is no file. Scenarios that
// are no more are left out.
func readRecord(file string) ([]*Result, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var results []*Result
	for lines := json.NewDecoder(bytes.NewReader(text)); lines.More(); {
		r := &Result{}
		if err := lines.Decode(r); err != nil {
			return nil, fmt.Errorf("%s, result %d: %w", file, len(results)+1, err)
		}
		results = append(results, r)
	}
	return slices.DeleteFunc(results, func(r *Result) bool {
		i := place(r)
		if i >= 0 {
			r.Scenario = Scenarios[i]
		}
		return i < 0
	}), nil
}

// writeRecord writes what readRecord reads.
func writeRecord(w io.Writer, results []*Result) error {
	lines := json.NewEncoder(w)
	for _, r := range results {
		if err := lines.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// merged are the results of all scenarios in their order, by server: the new ones, and
// the old ones of what was not run.
func merged(old, fresh []*Result) []*Result {
	all := slices.Clone(fresh)
	for _, r := range old {
		if !slices.ContainsFunc(fresh, func(f *Result) bool {
			return f.Scenario.Name == r.Scenario.Name && f.Server.Version == r.Server.Version
		}) {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b *Result) int {
		return cmp.Or(slices.Compare(numbers(a.Server.Version), numbers(b.Server.Version)), cmp.Compare(place(a), place(b)))
	})
	return all
}

// place is the index of a result's scenario, -1 if there is none of its name.
func place(r *Result) int {
	return slices.IndexFunc(Scenarios, func(s Scenario) bool { return s.Name == r.Scenario.Name })
}

// numbers are those of a version.
func numbers(version string) (all []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part) // a version is made of numbers
		all = append(all, n)
	}
	return all
}
