package faults

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAPasswordIsHeardInAllItsForms(t *testing.T) {
	for name, say := range map[string]func(*Heard){
		"in a text":        func(h *Heard) { h.Say("tarantool://app:%s@h/", password) },
		"in an error":      func(h *Heard) { h.Error(fmt.Errorf("dial: %w", errors.New(password))) },
		"in hexadecimal":   func(h *Heard) { h.Say("%s", hex.EncodeToString([]byte(password))) },
		"in base64":        func(h *Heard) { h.Say("%s", base64.StdEncoding.EncodeToString([]byte(password))) },
		"as bytes":         func(h *Heard) { h.Say("%v", []byte(password)) },
		"its first half":   func(h *Heard) { h.Say("%.*s***", len(password)/2, password) },
		"its last half":    func(h *Heard) { h.Say("***%s", password[len(password)/2:]) },
		"quoted":           func(h *Heard) { h.Say("%q", password) },
		"in two writes":    func(h *Heard) { _, _ = h.Write([]byte(password[:5])); _, _ = h.Write([]byte(password[5:])) },
		"behind much else": func(h *Heard) { h.Say("%1000d", 1); h.Say("%s", password) },
	} {
		h := NewHeard()
		say(h)
		_, found := h.Found()
		assert.Len(t, found, 1, name)
	}
}

func TestWhatIsNoPasswordIsNotHeard(t *testing.T) {
	h := NewHeard()
	h.Say("tarantool://app:******@h/ %s", password[:2])
	h.Say("the rest of it: %s", password[len(password)-2:])
	bytes, found := h.Found()
	assert.Positive(t, bytes)
	assert.Empty(t, found)
}
