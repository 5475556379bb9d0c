package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/tntsql/tntsql/internal/fakepeer/transcript"
)

// recorder writes down what a client asks and what it is answered.
type recorder struct {
	*client
	transcript *transcript.Transcript
	uuids      map[string]string // of the servers → of the transcript
}

// ask sends a request and keeps the answer, or the event that the server sends
// in place of one.
func (r *recorder) ask(name, about string, request transcript.Packet) error {
	if err := r.send(request); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return r.expect(name, about, request)
}

func (r *recorder) expect(name, about string, request transcript.Packet) error {
	reply, err := r.receive()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	reply.Body = steady(r.anonymous(reply.Body))
	r.transcript.Exchanges = append(r.transcript.Exchanges,
		transcript.Exchange{Name: name, About: about, Request: request, Reply: reply})
	return nil
}

// anonymous replaces the uuids, which are new in each server, as text and as
// MessagePack extensions.
func (r *recorder) anonymous(body []byte) []byte {
	for from, to := range r.uuids {
		body = bytes.ReplaceAll(body, []byte(from), []byte(to))
		body = bytes.ReplaceAll(body, bytesOf(from), bytesOf(to))
	}
	return body
}

func bytesOf(uuid string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if err != nil {
		panic(err) // a server that gives no uuid is none
	}
	return b
}
