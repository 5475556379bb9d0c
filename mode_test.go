package tntsql

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestModeNames(t *testing.T) {
	for i, tt := range []struct {
		mode Mode
		name string
	}{
		{ModeAny, "any"}, {ModeRW, "rw"}, {ModeRO, "ro"}, {ModePreferRW, "prefer_rw"}, {ModePreferRO, "prefer_ro"},
	} {
		assert.Equal(t, Mode(i+1), tt.mode)
		assert.Equal(t, tt.name, tt.mode.String())
		parsed, err := ParseMode(tt.name)
		require.NoError(t, err)
		assert.Equal(t, tt.mode, parsed)

		text, err := json.Marshal(map[string]Mode{"mode": tt.mode})
		require.NoError(t, err)
		var read map[string]Mode
		require.NoError(t, json.Unmarshal(text, &read))
		assert.Equal(t, tt.mode, read["mode"])
	}
}

func TestInvalidModes(t *testing.T) {
	for mode, name := range map[Mode]string{0: "Mode(0)", 6: "Mode(6)", 255: "Mode(255)"} {
		assert.Equal(t, name, mode.String())
		_, err := mode.MarshalText()
		assert.EqualError(t, err, "tntsql: "+name+" is not a valid mode")
	}
	for _, name := range []string{"", "RW", " rw", "master", "Mode(1)"} {
		_, err := ParseMode(name)
		require.EqualError(t, err, "tntsql: mode: want any, rw, ro, prefer_rw or prefer_ro", name)
		mode := ModeRW
		require.Error(t, mode.UnmarshalText([]byte(name)))
		assert.Equal(t, ModeRW, mode, "a failed UnmarshalText changed the mode")
	}
}

func TestModeTravelsInTheContext(t *testing.T) {
	ctx := context.Background()
	_, ok := ModeFromContext(ctx)
	assert.False(t, ok)

	outer := WithMode(ctx, ModeRO)
	inner := WithMode(outer, ModeRW)
	for _, tt := range []struct {
		ctx  context.Context
		want Mode
	}{{outer, ModeRO}, {inner, ModeRW}, {WithMode(ctx, 0), 0}} {
		mode, ok := ModeFromContext(tt.ctx)
		assert.True(t, ok)
		assert.Equal(t, tt.want, mode)
	}
}
