package faults

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"sync"
)

// Heard searches all that is written to it for the password and either half of it, in the
// forms that a text may have it in. It keeps the end of each text, so that a password is found that
// comes in two parts.
type Heard struct {
	mu    sync.Mutex
	forms [][]byte
	tail  []byte
	bytes int
	found []string
}

// NewHeard searches for the password of all scenarios.
func NewHeard() *Heard {
	h := &Heard{}
	for _, form := range []string{
		password[:len(password)/2], password[len(password)/2:],
		url.QueryEscape(password),
		hex.EncodeToString([]byte(password)),
		fmt.Sprintf("% x", password),
		base64.StdEncoding.EncodeToString([]byte(password)),
		fmt.Sprint([]byte(password)),
	} {
		h.forms = append(h.forms, []byte(form))
	}
	return h
}

// Write takes a part of a text.
func (h *Heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes += len(b)
	text := append(h.tail, b...)
	longest := 0
	for _, form := range h.forms {
		if at := bytes.Index(text, form); at >= 0 {
			h.found = append(h.found, string(text[max(0, at-100):min(len(text), at+len(form)+100)]))
			text = nil
		}
		longest = max(longest, len(form))
	}
	h.tail = append(h.tail[:0], text[max(0, len(text)-longest):]...)
	return len(b), nil
}

// Say writes a line.
func (h *Heard) Say(format string, args ...any) {
	_, _ = fmt.Fprintf(h, format+"\n", args...)
}

// Error says an error in all ways that a program may print it.
func (h *Heard) Error(err error) { h.Say("%v %+v %#v", err, err, err) }

// Found is how many bytes there were, and the texts that show the password.
func (h *Heard) Found() (bytes int, texts []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bytes, h.found
}
