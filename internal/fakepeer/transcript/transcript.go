// Package transcript is the form in which the answers of a real server are kept
// for package fakepeer.
package transcript

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Transcript is what one server answered.
type Transcript struct {
	// Server is its version, for example "2.11.9-0-g54aebb0960".
	Server string `json:"server"`
	// Greeting is the first line that it sent.
	Greeting  string     `json:"greeting"`
	Exchanges []Exchange `json:"exchanges"`
}

// Exchange is a request and the answer to it.
type Exchange struct {
	// Name is the same in the transcripts of all versions.
	Name string `json:"name"`
	// About is the state that the server was in, and what came of the request.
	About   string `json:"about"`
	Request Packet `json:"request"`
	Reply   Packet `json:"reply"`
}

// Packet is a request or a reply, without its length and its sync.
type Packet struct {
	// Type is the type of a request; of a reply, 0, the type of an event, or
	// the code of an error with IPROTO_TYPE_ERROR.
	Type   uint32 `json:"type"`
	Stream uint64 `json:"stream,omitempty"`
	Body   Hex    `json:"body"`
}

// Hex are bytes that are written in hexadecimal.
type Hex []byte

// MarshalText implements encoding.TextMarshaler.
func (h Hex) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hex) UnmarshalText(text []byte) error {
	var err error
	*h, err = hex.DecodeString(string(text))
	return err
}

// Decode reads what Encode wrote.
func Decode(b []byte) (*Transcript, error) {
	t := new(Transcript)
	if err := json.Unmarshal(b, t); err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	return t, nil
}

// Encode is for people to read and git to compare.
func (t *Transcript) Encode() ([]byte, error) {
	b, err := json.MarshalIndent(t, "", "  ")
	return append(b, '\n'), err
}

// Find returns the exchange of the name, or nil.
func (t *Transcript) Find(name string) *Exchange {
	for i := range t.Exchanges {
		if t.Exchanges[i].Name == name {
			return &t.Exchanges[i]
		}
	}
	return nil
}
