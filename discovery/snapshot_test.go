package discovery_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
)

func rw(uuid string) discovery.Instance {
	return discovery.Instance{Address: uuid, UUID: uuid, Role: discovery.RoleRW, Status: discovery.StatusRunning}
}

func ro(uuid string) discovery.Instance {
	in := rw(uuid)
	in.Role = discovery.RoleRO
	return in
}

func with(in discovery.Instance, status string) discovery.Instance {
	in.Status = status
	return in
}

// picked is the set of instances that a mode picks, over many turns.
func picked(s *discovery.Snapshot, m discovery.Mode) []string {
	var uuids []string
	for turn := range uint64(12) {
		i := s.Pick(m, turn)
		if i < 0 {
			return nil
		}
		uuids = append(uuids, s.Instances[i].UUID)
	}
	return uuids
}

func TestEachModePicksFromItsBestClass(t *testing.T) {
	const suspect, orphan = discovery.StatusSuspect, discovery.StatusOrphan
	tests := []struct {
		name                         string
		instances                    []discovery.Instance
		any, rw, ro, preferRW, prfRO []string
	}{
		{
			"a healthy replica set",
			[]discovery.Instance{rw("m"), ro("r1"), ro("r2")},
			[]string{"m", "r1", "r2"}, []string{"m"}, []string{"r1", "r2"}, []string{"m"}, []string{"r1", "r2"},
		},
		{
			"no master",
			[]discovery.Instance{ro("r1"), ro("r2")},
			[]string{"r1", "r2"}, nil, []string{"r1", "r2"}, []string{"r1", "r2"}, []string{"r1", "r2"},
		},
		{
			"a master alone",
			[]discovery.Instance{rw("m"), with(ro("r"), discovery.StatusDown)},
			[]string{"m"}, []string{"m"}, nil, []string{"m"}, []string{"m"},
		},
		{
			"an orphan comes after every running instance",
			[]discovery.Instance{with(ro("o"), orphan), rw("m")},
			[]string{"m"}, []string{"m"}, []string{"o"}, []string{"m"}, []string{"m"},
		},
		{
			"an orphan serves reads when nothing else does",
			[]discovery.Instance{with(ro("o"), orphan)},
			[]string{"o"}, nil, []string{"o"}, []string{"o"}, []string{"o"},
		},
		{
			"a suspect instance is picked last, in its role",
			[]discovery.Instance{with(rw("m"), suspect), ro("r")},
			[]string{"r"}, []string{"m"}, []string{"r"}, []string{"r"}, []string{"r"},
		},
		{
			"an instance that loads serves nothing",
			[]discovery.Instance{with(ro("l"), "loading"), with(rw("h"), "hot_standby")},
			nil, nil, nil, nil, nil,
		},
		{"nothing is known", []discovery.Instance{{Address: "a"}}, nil, nil, nil, nil, nil},
		{
			"one instance under two addresses counts once",
			[]discovery.Instance{ro("r"), ro("r"), rw("m")},
			[]string{"r", "m"}, []string{"m"}, []string{"r"}, []string{"m"}, []string{"r"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := discovery.New(nil, tt.instances)
			for mode, want := range map[discovery.Mode][]string{
				discovery.ModeAny: tt.any, discovery.ModeRW: tt.rw, discovery.ModeRO: tt.ro,
				discovery.ModePreferRW: tt.preferRW, discovery.ModePreferRO: tt.prfRO,
			} {
				got := picked(s, mode)
				assert.Subset(t, want, got, "mode %d", mode)
				assert.Subset(t, got, want, "mode %d", mode)
			}
		})
	}
}

func TestTurnsSpreadEvenly(t *testing.T) {
	s := discovery.New(nil, []discovery.Instance{rw("m"), ro("r1"), ro("r2")})
	served := make(map[int]int)
	for turn := range uint64(100) {
		served[s.Pick(discovery.ModeAny, turn)]++
	}
	assert.Equal(t, map[int]int{0: 34, 1: 33, 2: 33}, served)
}

func TestClassesComeBestFirstEachInstanceOnce(t *testing.T) {
	s := discovery.New(nil, []discovery.Instance{rw("m"), ro("r1"), ro("r2"), with(ro("s"), discovery.StatusSuspect)})
	assert.Equal(t, [][]int{{1, 2}, {0}, {3}}, s.Classes(discovery.ModePreferRO))
	assert.Equal(t, [][]int{{0}, {1, 2}, {3}}, s.Classes(discovery.ModePreferRW))
	assert.Equal(t, [][]int{{0, 1, 2}, {3}}, s.Classes(discovery.ModeAny))
}

func TestWritesStayWithOneOfTwoWritableInstances(t *testing.T) {
	writer := func(s *discovery.Snapshot) string {
		return s.Instances[s.Pick(discovery.ModeRW, 1)].UUID
	}
	term := func(in discovery.Instance, n uint64) discovery.Instance {
		in.Term = n
		return in
	}

	first := discovery.New(nil, []discovery.Instance{rw("b"), ro("a")})
	require.Equal(t, "b", writer(first))
	require.Empty(t, first.Disputed)

	both := discovery.New(first, []discovery.Instance{rw("b"), rw("a")})
	assert.Equal(t, "b", writer(both), "the one in use keeps the writes")
	assert.Len(t, both.Disputed, 1)
	for turn := range uint64(10) {
		assert.Equal(t, 0, both.Pick(discovery.ModeRW, turn))
	}

	after := discovery.New(both, []discovery.Instance{ro("b"), rw("a")})
	assert.Equal(t, "a", writer(after), "until it stops being writable")

	assert.Equal(t, "a", writer(discovery.New(nil, []discovery.Instance{rw("b"), rw("a")})), "the lowest uuid without a past")
	assert.Equal(t, "a", writer(discovery.New(first, []discovery.Instance{term(rw("b"), 1), term(rw("a"), 2)})), "the newer leader")
	assert.Equal(t, "a", writer(discovery.New(first, []discovery.Instance{with(rw("b"), discovery.StatusSuspect), rw("a")})), "the one that answers")
}

func TestReplicaSetsHaveWritersOfTheirOwn(t *testing.T) {
	in := func(uuid, set string) discovery.Instance {
		i := rw(uuid)
		i.ReplicaSet = set
		return i
	}
	s := discovery.New(nil, []discovery.Instance{in("a", "one"), in("b", "two")})
	assert.Empty(t, s.Disputed)
	assert.Contains(t, picked(s, discovery.ModeRW), "a")
	assert.Contains(t, picked(s, discovery.ModeRW), "b")
}

func TestOneInstanceUnderSeveralAddressesIsOne(t *testing.T) {
	at := func(address string, in discovery.Instance) discovery.Instance {
		in.Address = address
		return in
	}
	const suspect, standby, off = discovery.StatusSuspect, discovery.StatusStandby, discovery.StatusDown
	usesB := discovery.New(nil, []discovery.Instance{at("b", ro("x"))})
	for _, tt := range []struct {
		name  string
		prev  *discovery.Snapshot
		known []discovery.Instance
		want  []string // addresses
	}{
		{"the first that works", nil, []discovery.Instance{at("a", ro("x")), at("b", ro("x")), at("m", rw("m"))}, []string{"a", "m"}},
		{"in the place of the first", nil, []discovery.Instance{at("a", with(ro("x"), off)), at("m", rw("m")), at("b", ro("x"))}, []string{"b", "m"}},
		{"the one in use", usesB, []discovery.Instance{at("a", ro("x")), at("b", ro("x"))}, []string{"b"}},
		{"unless it is down", usesB, []discovery.Instance{at("a", ro("x")), at("b", with(ro("x"), off))}, []string{"a"}},
		{"or suspect", usesB, []discovery.Instance{at("a", ro("x")), at("b", with(ro("x"), suspect))}, []string{"a"}},
		{"and no other works", usesB, []discovery.Instance{at("a", with(ro("x"), standby)), at("b", with(ro("x"), suspect))}, []string{"b"}},
		{"all are down", usesB, []discovery.Instance{at("a", with(ro("x"), off)), at("b", with(ro("x"), off))}, []string{"b"}},
		{"those not reached are apart", nil, []discovery.Instance{{Address: "a", Status: off}, {Address: "b", Status: off}}, []string{"a", "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := discovery.New(tt.prev, tt.known)
			var got []string
			for i, in := range s.Instances {
				got = append(got, in.Address)
				assert.Equal(t, tt.known[s.Sources[i]].Address, in.Address)
			}
			assert.Equal(t, tt.want, got)
		})
	}

	x := at("b", ro("x"))
	x.Given = true
	s := discovery.New(nil, []discovery.Instance{at("a", ro("x")), with(x, off)})
	assert.True(t, s.Instances[0].Given, "one of its addresses is")
}

func TestReplicaSetsAreListed(t *testing.T) {
	a, b, c := rw("a"), ro("b"), ro("c")
	a.ReplicaSet, b.ReplicaSet = "one", "one"
	assert.Equal(t, []string{"one"}, discovery.New(nil, []discovery.Instance{a, b, c}).ReplicaSets)
	c.ReplicaSet = "two"
	assert.Equal(t, []string{"one", "two"}, discovery.New(nil, []discovery.Instance{a, b, c}).ReplicaSets)
}

func TestKnownEndsWithWhatIsUnresolved(t *testing.T) {
	s := discovery.New(nil, []discovery.Instance{rw("m")}, discovery.Instance{Address: "srv db", Status: discovery.StatusConnecting})
	assert.Len(t, s.Known(), 2)
	assert.Equal(t, "srv db", s.Known()[1].Address)
	assert.Len(t, s.Instances, 1)
	assert.False(t, s.Settled, "it is being looked up")
}

func TestServes(t *testing.T) {
	s := discovery.New(nil, []discovery.Instance{rw("m"), ro("r")})
	assert.True(t, s.Serves(discovery.ModeRW, 0))
	assert.False(t, s.Serves(discovery.ModeRW, 1))
	assert.True(t, s.Serves(discovery.ModePreferRW, 1))
}

func TestSameIgnoresWhatNoChoiceDependsOn(t *testing.T) {
	a, b := rw("m"), rw("m")
	b.Latency, b.Err = 1, errors.New("late")
	assert.True(t, a.Same(&b))
	b.Role = discovery.RoleRO
	assert.False(t, a.Same(&b))
}

func BenchmarkPick(b *testing.B) {
	instances := []discovery.Instance{rw("m")}
	for i := range 99 {
		instances = append(instances, ro(string(rune('A'+i))))
	}
	s := discovery.New(nil, instances)
	b.ReportAllocs()
	var turn uint64
	for b.Loop() {
		turn++
		if s.Pick(discovery.ModePreferRO, turn) < 0 {
			b.Fatal("nothing picked")
		}
	}
}
