package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql/internal/fakepeer/transcript"
	"github.com/tntsql/tntsql/internal/iproto"
)

// patience bounds each exchange with the server.
const patience = 10 * time.Second

// client speaks IPROTO, one request at a time, and takes nothing on trust from
// the driver that the transcripts are to test.
type client struct {
	net.Conn
	greeting string
	sync     uint64
}

func dial(address string) (*client, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	greeting := make([]byte, 128)
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(conn, greeting); err != nil {
		return nil, fmt.Errorf("greeting: %w", err)
	}
	return &client{Conn: conn, greeting: strings.TrimSpace(string(greeting[:64]))}, nil
}

// send sends a request without waiting for its answer.
func (c *client) send(p transcript.Packet) error {
	c.sync++
	header := map[protocol.Key]uint64{protocol.IPROTO_REQUEST_TYPE: uint64(p.Type), protocol.IPROTO_SYNC: c.sync}
	if p.Stream != 0 {
		header[protocol.IPROTO_STREAM_ID] = p.Stream
	}
	packet, err := msgpack.Marshal(header)
	if err != nil {
		return err
	}
	packet = append(packet, p.Body...)
	_ = c.SetDeadline(time.Now().Add(patience))
	_, err = c.Write(append(binary.BigEndian.AppendUint32([]byte{0xce}, uint32(len(packet))), packet...))
	return err
}

// receive returns the next packet of the server.
func (c *client) receive() (transcript.Packet, error) {
	var prefix [5]byte
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(c, prefix[:]); err != nil {
		return transcript.Packet{}, err
	}
	packet := make([]byte, binary.BigEndian.Uint32(prefix[1:]))
	if _, err := io.ReadFull(c, packet); err != nil {
		return transcript.Packet{}, err
	}
	h, bodyAt, err := iproto.ParseHeader(packet)
	if err != nil {
		return transcript.Packet{}, err
	}
	return transcript.Packet{Type: h.Type, Body: bytes.Clone(packet[bodyAt:])}, nil
}
