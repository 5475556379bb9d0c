package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// at makes an operation of session 1 that takes from one millisecond to another.
func at(from, to int, kind Kind, key, value int64, outcome Outcome) Op {
	return Op{Kind: kind, Outcome: outcome, Session: 1, Key: key, Value: value,
		Begun: time.Duration(from) * time.Millisecond, Ended: time.Duration(to) * time.Millisecond}
}

func by(session int, op Op) Op {
	op.Session = session
	return op
}

func promises(breaches []Breach) (names []string) {
	for _, b := range breaches {
		names = append(names, b.Promise)
	}
	return names
}

func TestOnce(t *testing.T) {
	insert := func(o Outcome) []Op { return []Op{at(0, 1, Insert, 7, 0, o)} }
	type stored = map[int64]int
	for name, tt := range map[string]struct {
		ops       []Op
		instances []stored
		want      []string
	}{
		"acknowledged and there":           {insert(Done), []stored{{7: 1}, {7: 1}}, nil},
		"acknowledged and nowhere":         {insert(Done), []stored{{}, {}}, []string{Lost}},
		"acknowledged and not on a copy":   {insert(Done), []stored{{7: 1}, {}}, []string{Lost}},
		"acknowledged and there twice":     {insert(Done), []stored{{7: 1}, {7: 2}}, []string{Twice}},
		"unknown and there":                {insert(Unknown), []stored{{7: 1}}, nil},
		"unknown and not there":            {insert(Unknown), []stored{{}}, nil},
		"unknown and there twice":          {insert(Unknown), []stored{{7: 2}}, []string{Twice}},
		"failed and not there":             {insert(Failed), []stored{{}}, nil},
		"failed and there":                 {insert(Failed), []stored{{7: 1}}, []string{False}},
		"failed and there twice":           {insert(Failed), []stored{{7: 2}}, []string{Twice}},
		"there without an operation":       {nil, []stored{{9: 1}, {9: 1}}, []string{Invented}},
		"other kinds have other checks":    {[]Op{at(0, 1, Add, 7, 0, Done)}, []stored{{}}, nil},
		"no instance, and nothing to find": {nil, nil, nil},
	} {
		assert.Equal(t, tt.want, promises(Once(tt.ops, tt.instances...)), name)
	}
}

func TestUnknowns(t *testing.T) {
	ops := []Op{
		at(0, 1, Insert, 1, 0, Unknown), at(0, 1, Insert, 2, 0, Unknown), at(0, 1, Insert, 3, 0, Done),
		at(0, 1, Insert, 4, 0, Failed), at(0, 1, Write, 1, 5, Unknown),
	}
	unknown, applied := Unknowns(ops, map[int64]int{3: 1}, map[int64]int{2: 1, 3: 1})
	assert.Equal(t, [2]int{2, 1}, [2]int{unknown, applied})
}

func TestCounters(t *testing.T) {
	ops := []Op{
		at(0, 1, Add, 1, 0, Done), at(0, 1, Add, 1, 0, Done), at(1, 2, Add, 1, 0, Unknown), at(1, 2, Add, 1, 0, Failed),
	}
	for n, want := range map[int64][2][]string{
		1: {{Lost}, nil},
		2: {nil, nil},
		3: {nil, nil},
		4: {{Twice}, {Twice}},
	} {
		assert.Equal(t, want[0], promises(Counters(ops, false, map[int64]int64{1: n})), n)
		assert.Equal(t, want[1], promises(Counters(ops, true, map[int64]int64{1: n})), n)
	}
	assert.Equal(t, []string{Lost}, promises(Counters(ops, false, map[int64]int64{1: 2}, map[int64]int64{1: 1})), "one instance is enough")
	assert.Equal(t, []string{Twice}, promises(Counters(nil, true, map[int64]int64{5: 1})), "nobody has added to it")
}

func TestSessions(t *testing.T) {
	write := at(0, 10, Write, 1, 5, Done)
	for name, tt := range map[string]struct {
		ops   []Op
		lossy []Span
		want  []string
	}{
		"the write is seen":                         {[]Op{write, at(11, 12, Read, 1, 5, Done)}, nil, nil},
		"the write is not seen":                     {[]Op{write, at(11, 12, Read, 1, 4, Done)}, nil, []string{StaleRead}},
		"a later one is seen":                       {[]Op{write, at(11, 12, Write, 1, 6, Unknown), at(13, 14, Read, 1, 6, Done)}, nil, nil},
		"an unknown one need not be seen":           {[]Op{write, at(11, 12, Write, 1, 6, Unknown), at(13, 14, Read, 1, 5, Done)}, nil, nil},
		"an unknown one comes later":                {[]Op{at(0, 1, Write, 1, 4, Unknown), write, at(11, 12, Read, 1, 4, Done)}, nil, nil},
		"another one's unknown":                     {[]Op{by(2, at(0, 1, Write, 1, 4, Unknown)), at(0, 1, Write, 2, 4, Unknown), write, at(11, 12, Read, 1, 4, Done)}, nil, []string{StaleRead}},
		"a failed one is none":                      {[]Op{write, at(11, 12, Write, 1, 6, Failed), at(13, 14, Read, 1, 5, Done)}, nil, nil},
		"a failed read says nothing":                {[]Op{write, at(11, 12, Read, 1, 0, Failed)}, nil, nil},
		"another session's write":                   {[]Op{write, by(2, at(11, 12, Read, 1, 0, Done))}, nil, nil},
		"another register":                          {[]Op{write, at(11, 12, Read, 2, 0, Done)}, nil, nil},
		"given in another order":                    {[]Op{at(11, 12, Read, 1, 4, Done), write}, nil, []string{StaleRead}},
		"lost by a failover":                        {[]Op{write, at(21, 22, Read, 1, 4, Done)}, []Span{{20 * time.Millisecond, 20 * time.Millisecond}}, nil},
		"lost while it was written":                 {[]Op{write, at(11, 12, Read, 1, 4, Done)}, []Span{{5 * time.Millisecond, 6 * time.Millisecond}}, nil},
		"overwritten while a former one comes back": {[]Op{at(11, 12, Write, 1, 5, Done), at(13, 14, Read, 1, 4, Done)}, []Span{{10 * time.Millisecond, 20 * time.Millisecond}}, nil},
		"not lost by an earlier failover":           {[]Op{at(11, 12, Write, 1, 5, Done), at(13, 14, Read, 1, 4, Done)}, []Span{{5 * time.Millisecond, 10 * time.Millisecond}}, []string{StaleRead}},
		"not lost by a later failover":              {[]Op{write, at(11, 12, Read, 1, 4, Done)}, []Span{{20 * time.Millisecond, 20 * time.Millisecond}}, []string{StaleRead}},
	} {
		assert.Equal(t, tt.want, promises(Sessions(tt.ops, tt.lossy...)), name)
	}
}

func TestLinearizable(t *testing.T) {
	w1 := at(0, 10, Write, 1, 5, Done)
	for name, tt := range map[string]struct {
		ops  []Op
		want []string
	}{
		"a read before all":                       {[]Op{at(0, 1, Read, 1, 0, Done)}, nil},
		"a read of what nobody wrote":             {[]Op{at(0, 1, Read, 1, 9, Done)}, []string{NotInOrder}},
		"a read after the write":                  {[]Op{w1, by(2, at(11, 12, Read, 1, 5, Done))}, nil},
		"a read of the old value":                 {[]Op{w1, by(2, at(11, 12, Read, 1, 0, Done))}, []string{NotInOrder}},
		"reads beside the write":                  {[]Op{w1, by(2, at(1, 2, Read, 1, 0, Done)), by(2, at(3, 4, Read, 1, 5, Done))}, nil},
		"reads that go back":                      {[]Op{w1, by(2, at(1, 2, Read, 1, 5, Done)), by(3, at(3, 4, Read, 1, 0, Done))}, []string{NotInOrder}},
		"a write of unknown outcome, seen late":   {[]Op{at(0, 10, Write, 1, 5, Unknown), by(2, at(11, 12, Read, 1, 0, Done)), by(2, at(13, 14, Read, 1, 5, Done))}, nil},
		"a write of unknown outcome, seen twice":  {[]Op{at(0, 10, Write, 1, 5, Unknown), by(2, at(11, 12, Read, 1, 5, Done)), by(2, at(13, 14, Write, 1, 6, Done)), by(2, at(15, 16, Read, 1, 5, Done))}, []string{NotInOrder}},
		"a failed write is none":                  {[]Op{at(0, 10, Write, 1, 5, Failed), by(2, at(11, 12, Read, 1, 0, Done))}, nil},
		"a failed write that is seen":             {[]Op{at(0, 10, Write, 1, 5, Failed), by(2, at(11, 12, Read, 1, 5, Done))}, []string{NotInOrder}},
		"a lost write":                            {[]Op{w1, by(2, at(11, 12, Write, 1, 6, Done)), by(3, at(13, 14, Read, 1, 5, Done))}, []string{NotInOrder}},
		"registers are apart":                     {[]Op{w1, by(2, at(11, 12, Read, 2, 0, Done))}, nil},
		"each register that is broken counts":     {[]Op{at(0, 1, Read, 1, 9, Done), at(2, 3, Read, 2, 9, Done), at(4, 5, Read, 3, 0, Done)}, []string{NotInOrder, NotInOrder}},
		"operations of other kinds are left out":  {[]Op{at(0, 1, Insert, 1, 9, Done), at(2, 3, Add, 1, 9, Done)}, nil},
		"a read whose outcome nobody knows":       {[]Op{at(0, 1, Read, 1, 9, Unknown)}, nil},
		"a read that begins as the write returns": {[]Op{w1, by(2, at(10, 12, Read, 1, 0, Done))}, nil},
	} {
		assert.Equal(t, tt.want, promises(Linearizable(tt.ops, 10*time.Second)), name)
	}
}

// Many writes that overlap, of which no read tells the order, take longer than there is.
func TestWhatTakesTooLongIsNotTakenForRight(t *testing.T) {
	var ops []Op
	for n := range int64(200) {
		ops = append(ops, by(int(n), at(0, 1000, Write, 1, n+1, Unknown)))
	}
	ops = append(ops, by(999, at(2000, 2001, Read, 1, 1, Done)), by(999, at(2002, 2003, Read, 1, -1, Done)))
	assert.Equal(t, []string{Undecidable}, promises(Linearizable(ops, 50*time.Millisecond)))
}

func TestBreachesSayWhatHappened(t *testing.T) {
	b := Breach{Promise: Twice, Op: Op{Kind: Write, Outcome: Unknown, Session: 3, Key: 7, Value: 9, Begun: time.Second, Ended: 2 * time.Second, Instance: "h:3301"}}
	assert.Equal(t, "applied twice: write 7=9 by 3 on h:3301: unknown, 1s to 2s", b.String())
}
