package fakepeer

import (
	"bytes"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"

	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql/internal/fakepeer/transcript"
	"github.com/tntsql/tntsql/internal/iproto"
)

//go:embed testdata/2.6.json testdata/2.11.json testdata/3.8.json
var files embed.FS

// transcripts are the recorded servers, oldest first.
var transcripts = load("2.6", "2.11", "3.8")

func load(series ...string) (all []*transcript.Transcript) {
	for _, name := range series {
		b, err := files.ReadFile("testdata/" + name + ".json")
		if err != nil {
			panic(err) // they are embedded
		}
		t, err := transcript.Decode(b)
		if err != nil {
			panic(fmt.Errorf("%s: %w", name, err))
		}
		all = append(all, t)
	}
	return all
}

func ofVersion(version string) *transcript.Transcript {
	newest := transcripts[0]
	for _, t := range transcripts {
		if number(t.Server) <= number(version) {
			newest = t
		}
	}
	return newest
}

// number orders versions by their series.
func number(version string) int {
	var major, minor int
	_, _ = fmt.Sscanf(version, "%d.%d", &major, &minor) // what is no version comes first
	return major*1000 + minor
}

// leaderUUID is the leader in the transcripts.
const leaderUUID = "11111111-2222-4333-8444-666666666666"

// reply is the recorded reply of the name, with the peer's own uuid.
func (p *Peer) reply(name string) transcript.Packet {
	e := p.recorded.Find(name)
	if e == nil {
		panic(fmt.Sprintf("fakepeer: no exchange %q with Tarantool %s was recorded", name, p.recorded.Server))
	}
	return transcript.Packet{Type: e.Reply.Type, Body: renamed(e.Reply.Body, UUID, p.uuid)}
}

// renamed replaces a uuid, as text and as a MessagePack extension.
func renamed(body []byte, from, to string) []byte {
	body = bytes.ReplaceAll(body, []byte(from), []byte(to))
	return bytes.ReplaceAll(body, bytesOf(from), bytesOf(to))
}

func bytesOf(uuid string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if err != nil {
		panic(fmt.Errorf("fakepeer: %s is no uuid: %w", uuid, err))
	}
	return b
}

// ordinary are the exchanges that requests are answered with, by their type.
var ordinary = map[protocol.Type]string{
	protocol.IPROTO_ID:       "id",
	protocol.IPROTO_PING:     "ping",
	protocol.IPROTO_VOTE:     "vote",
	protocol.IPROTO_CALL:     "box.info",
	protocol.IPROTO_EXECUTE:  "insert",
	protocol.IPROTO_WATCH:    "watch box.status",
	protocol.IPROTO_BEGIN:    "begin",
	protocol.IPROTO_COMMIT:   "commit",
	protocol.IPROTO_ROLLBACK: "rollback without a transaction",
}

// answer is the frame of the ordinary answer.
func (p *Peer) answer(r Request) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, known := ordinary[r.Type]
	switch {
	case !known || p.recorded.Find(name) == nil:
		return Frame(r.Sync, 0, []byte{0x80})
	case r.Type == protocol.IPROTO_CALL && !p.granted:
		name = "box.info denied"
	case (r.Type == protocol.IPROTO_CALL || r.Type == protocol.IPROTO_VOTE) && p.readOnly:
		name += ", read-only"
	}
	reply := p.reply(name)
	if r.Type == protocol.IPROTO_VOTE && p.lsn != 0 {
		reply.Body = withLSN(reply.Body, p.lsn)
	}
	return Frame(r.Sync, reply.Type, reply.Body)
}

// SetReadOnly changes the role: votes say so from here on, and a server with
// watchers pushes it before SetReadOnly returns.
func (p *Peer) SetReadOnly(readOnly bool) {
	p.mu.Lock()
	p.readOnly = readOnly
	p.mu.Unlock()
	if p.watches() {
		p.Push(iproto.StatusKey, p.status())
	}
}

// SetLSN sets the only component of the vclock in its ballots.
func (p *Peer) SetLSN(lsn uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lsn = lsn
}

// withLSN replaces the vclock of a ballot.
func withLSN(body []byte, lsn uint64) []byte {
	const ballotAt = 3 // behind a map with one key, and the ballot's own head
	out := bytes.Clone(body[:ballotAt])
	for fields := body[ballotAt:]; len(fields) > 0; {
		n, err := iproto.Skip(fields[1:], iproto.MaxDepth) // keys take a byte
		if err != nil {
			panic(fmt.Errorf("fakepeer: recorded ballot: %w", err))
		}
		field := fields[:1+n]
		if field[0] == byte(protocol.IPROTO_BALLOT_VCLOCK) {
			vclock, _ := msgpack.Marshal(map[uint32]uint64{1: lsn}) // integers alone
			field = append(field[:1:1], vclock...)
		}
		out, fields = append(out, field...), fields[1+n:]
	}
	return out
}

// Ballot is the body of a 2.6's reply to IPROTO_VOTE.
func Ballot(readOnly bool) []byte {
	name := "vote"
	if readOnly {
		name = "vote, read-only"
	}
	return transcripts[0].Find(name).Reply.Body
}

// Replay is a script that answers with the recorded reply of the name.
func Replay(name string) Script {
	return func(s *Session, r Request) bool {
		reply := s.peer.reply(name)
		s.Reply(r.Sync, reply.Type, reply.Body)
		return true
	}
}

// NameLeader is a script that refuses as a follower does, which names the leader.
func NameLeader(uuid string) Script {
	return func(s *Session, r Request) bool {
		reply := s.peer.reply("insert, not the leader")
		s.Reply(r.Sync, reply.Type, renamed(reply.Body, leaderUUID, uuid))
		return true
	}
}
