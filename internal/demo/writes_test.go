package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const ms = time.Millisecond

var someWrites = []write{
	{at: 10 * ms, address: "A"}, {at: 11 * ms, address: "A"}, {at: 12 * ms, address: "A"}, {at: 13 * ms, address: "A"},
	{at: 20 * ms, address: "A"}, {at: 21 * ms, address: "A"},
	{at: 44 * ms, address: "B"}, {at: 50 * ms, address: "B"}, {at: 60 * ms, address: "B"},
}

func TestTimelineHasSpacesWhereNothingWasWritten(t *testing.T) {
	assert.Equal(t, " █▄ ▂▂▂ ", timeline(someWrites, 0, 10*ms, 8))
	assert.Equal(t, "█ ", timeline(someWrites, 44*ms, 20*ms, 2))
	assert.Equal(t, "    ", timeline(someWrites, time.Second, ms, 4))
}

func TestHandover(t *testing.T) {
	pause, ok := handover(someWrites)
	assert.True(t, ok)
	assert.Equal(t, 23*ms, pause)
	for _, n := range []int{0, 1, 6} {
		_, ok = handover(someWrites[:n])
		assert.False(t, ok, n)
	}
}

func TestByMaster(t *testing.T) {
	mixed := append(append([]write(nil), someWrites...), write{at: 70 * ms, address: "A"})
	groups := byMaster(mixed)
	assert.Len(t, groups, 2)
	assert.Len(t, groups[0], 7)
	assert.Len(t, groups[1], 3)
	assert.Nil(t, byMaster(nil))
}
