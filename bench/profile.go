package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/pprof"
	"time"
)

// Profile has the driver alone do a case for a while, and writes a profile of the
// CPU and one of all allocations.
func Profile(ctx context.Context, name string, goroutines int, length time.Duration, cpu, allocations io.Writer) (s Sample, err error) {
	plain, mvcc, err := openSites(ctx)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, closeSites(plain, mvcc)) }()
	c, err := driverIn(plain, mvcc, name)
	if err != nil {
		return s, err
	}
	if _, err := take(c, goroutines, length/10, 0); err != nil {
		return s, err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return s, err
	}
	s, err = take(c, goroutines, length, 0)
	pprof.StopCPUProfile()
	return s, errors.Join(err, pprof.Lookup("allocs").WriteTo(allocations, 0))
}

// driverIn is the driver in a case.
func driverIn(plain, mvcc *site, name string) (contender, error) {
	for _, l := range loads(plain, mvcc, nil) {
		for _, c := range l.contenders {
			if l.Case.Name == name && c.name == tntsqlName {
				return c, nil
			}
		}
	}
	return contender{}, fmt.Errorf("no case %q on Tarantool %s", name, plain.server.version())
}
