package iproto

import (
	"fmt"

	"github.com/tarantool/go-iproto"
)

// Ballot is an instance's answer to IPROTO_VOTE, which needs no grant.
type Ballot struct {
	ReadOnly    bool // in effect; before 2.7.3 and 2.8.2 an orphan does not count
	ReadOnlyCfg bool // by box.cfg.read_only
	Anonymous   bool
	Booted      bool
	HasBooted   bool              // the server says whether it is booted: since 2.7.3 and 2.8.2
	CanLead     bool              // by box.cfg.election_mode, same versions
	VClock      map[uint32]uint64 // last LSN by replica id; component 0 is local
}

// ParseBallot reads the body of a reply to IPROTO_VOTE.
func ParseBallot(body []byte) (Ballot, error) {
	var (
		b     Ballot
		found bool
	)
	s := scanner{b: body}
	err := s.fields(func(key int) (bool, error) {
		if iproto.Key(key) != iproto.IPROTO_BALLOT {
			return false, nil
		}
		found = true
		return true, s.fields(func(key int) (bool, error) { return b.field(&s, key) })
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: reply to VOTE without a ballot", ErrMalformed)
	}
	if err != nil {
		return Ballot{}, err
	}
	return b, nil
}

func (b *Ballot) field(s *scanner, key int) (read bool, err error) {
	switch iproto.BallotKey(key) {
	case iproto.IPROTO_BALLOT_IS_RO_CFG:
		b.ReadOnlyCfg, err = s.bool()
	case iproto.IPROTO_BALLOT_IS_RO:
		b.ReadOnly, err = s.bool()
	case iproto.IPROTO_BALLOT_IS_ANON:
		b.Anonymous, err = s.bool()
	case iproto.IPROTO_BALLOT_IS_BOOTED:
		b.HasBooted = true
		b.Booted, err = s.bool()
	case iproto.IPROTO_BALLOT_CAN_LEAD:
		b.CanLead, err = s.bool()
	case iproto.IPROTO_BALLOT_VCLOCK:
		b.VClock, err = s.vclock()
	default:
		return false, nil
	}
	return true, err
}

// maxComponents is more than the components of a vclock: replica ids end at 31. Vclocks are
// kept, so their length must not be the server's to choose.
const maxComponents = 1024

func (s *scanner) vclock() (map[uint32]uint64, error) {
	n, err := s.mapLen()
	if err != nil {
		return nil, err
	}
	if n > maxComponents {
		return nil, s.malformed("a vclock of %d components", n)
	}
	clock := make(map[uint32]uint64, min(n, 32))
	for ; n > 0; n-- {
		id, err := s.uint32()
		if err != nil {
			return nil, err
		}
		if clock[id], err = s.uint(); err != nil {
			return nil, err
		}
	}
	return clock, nil
}
