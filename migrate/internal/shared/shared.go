// Package shared has the replica set that the tests of a package below migrate share.
package shared

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/tntsql/tntsql/tarantooltest"
)

var (
	start sync.Once
	set   *tarantooltest.ReplicaSet
	err   error
)

// Servers starts the replica set when a test asks for it first. The tests leave
// nothing in it.
func Servers(t *testing.T) *tarantooltest.ReplicaSet {
	t.Helper()
	start.Do(func() {
		set, err = tarantooltest.New(context.Background(), tarantooltest.Instances(2))
	})
	if errors.Is(err, tarantooltest.ErrNoBinary) && os.Getenv("CI") == "" && os.Getenv("TARANTOOL") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Suite stops the replica set before goroutines are counted.
type Suite struct{ *testing.M }

// Run runs the tests.
func (s Suite) Run() int {
	code := s.M.Run()
	if set != nil {
		if err := set.Close(); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	return code
}
