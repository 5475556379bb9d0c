package pool

import (
	"context"
	"errors"
	"fmt"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
)

// acceptsWritesReadOnly tells of servers that take INSERT, REPLACE, DELETE and
// most DDL though they are read-only, and replicate them back (tarantool#5231).
// On a connection to one, requests keep their order: each write has a vote in
// front of it.
func acceptsWritesReadOnly(v iproto.Version) bool {
	switch {
	case v.Major < 2:
		return true
	case v.Major > 2:
		return false
	case v.Minor == 5:
		return v.Patch < 3
	case v.Minor == 6:
		return v.Patch < 2
	case v.Minor == 7:
		return v.Patch < 1
	}
	return v.Minor < 5
}

var errVain = errors.New("the instance is no longer writable, and nothing was changed")

// voted tells what the vote in front of a write said.
func (s *sent) voted(ctx context.Context) error {
	select {
	case <-s.front.Done(): // it was answered before the write was
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	answer, err := s.front.Reply()
	if err != nil {
		return err
	}
	ballot, err := iproto.ParseBallot(answer.Body)
	if err != nil {
		return err
	}
	if ballot.ReadOnly {
		_ = s.in.ask(ctx) // so that the next write goes elsewhere
		return fmt.Errorf("the instance is read-only and took the write all the same, as Tarantool before 2.7.1 does: it is applied there and replicates")
	}
	return nil
}

// stillWritable tells whether the instance was when it answered. With watchers,
// a change of the role arrives on the same connection before the answer.
func (s *sent) stillWritable(ctx context.Context) bool {
	if s.conn.Watches() {
		return !s.in.mail.readOnly.Load()
	}
	return s.in.ask(ctx) != nil || s.serves(discovery.ModeRW)
}
