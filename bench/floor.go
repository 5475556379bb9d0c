package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v2"
	"github.com/vmihailenco/msgpack/v5"
)

// floorClient sends bodies that are encoded beforehand, reads by prepared id, and
// does not decode replies: what remains is the connection and the server.
type floorClient struct {
	server *server
	conn   *tarantool.Connection
	bodies map[string][][]byte // of a case, by id
	insert []byte              // ends with the id
}

func openFloor(ctx context.Context, s *server) (client, error) {
	conn, err := connectV2(ctx, s)
	if err != nil {
		return nil, err
	}
	c := &floorClient{server: s, conn: conn, bodies: map[string][][]byte{}}
	if err := c.encode(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// encode encodes all bodies.
func (c *floorClient) encode() error {
	for name, text := range map[string]string{
		pointSelect: selectPoint, page: selectPage, scan: selectScan, wide: selectWide, blob: selectBlob,
	} {
		statement, err := c.conn.NewPrepared(text)
		if err != nil {
			return err
		}
		template, err := body(iproto.IPROTO_STMT_ID, uint64(statement.StatementID), iproto.IPROTO_SQL_BIND)
		if err != nil {
			return err
		}
		c.bodies[name] = withEachID(template)
	}
	var insertError error
	c.insert, insertError = body(iproto.IPROTO_SQL_TEXT, insertRow, iproto.IPROTO_SQL_BIND, "a name", 1.5)
	updates, updateError := body(iproto.IPROTO_SQL_TEXT, updateRow, iproto.IPROTO_SQL_BIND, 1.5)
	calls, callError := body(iproto.IPROTO_FUNCTION_NAME, procedure, iproto.IPROTO_TUPLE)
	if err := errors.Join(insertError, updateError, callError); err != nil {
		return err
	}
	c.bodies[update], c.bodies[call] = withEachID(updates), withEachID(calls)
	return nil
}

// body encodes a request that names something and has arguments, of which the
// last is an id, 0 at first.
func body(what iproto.Key, value any, argsKey iproto.Key, args ...any) ([]byte, error) {
	var b bytes.Buffer
	e := msgpack.NewEncoder(&b)
	e.UseCompactInts(true)
	err := errors.Join(
		e.EncodeMapLen(2),
		e.EncodeMulti(uint64(what), value, uint64(argsKey)),
		e.EncodeArrayLen(len(args)+1),
		e.EncodeMulti(args...),
		e.EncodeUint32(0))
	return b.Bytes(), err
}

// withID is a copy of a body with an id.
func withID(template []byte, id int) []byte {
	b := append([]byte(nil), template...)
	binary.BigEndian.PutUint32(b[len(b)-4:], uint32(id))
	return b
}

func withEachID(template []byte) [][]byte {
	bodies := make([][]byte, rowCount+1)
	for id := range bodies {
		bodies[id] = withID(template, id)
	}
	return bodies
}

func (c *floorClient) name() string { return floorName }

func (c *floorClient) close() error { return c.conn.Close() }

func (c *floorClient) operations() map[string]operation {
	return map[string]operation{
		pointSelect: c.names(pointSelect, iproto.IPROTO_EXECUTE, 1),
		page:        c.names(page, iproto.IPROTO_EXECUTE, pageRows),
		scan:        c.names(scan, iproto.IPROTO_EXECUTE, rowCount),
		wide:        c.names(wide, iproto.IPROTO_EXECUTE, wideRows),
		call:        c.names(call, iproto.IPROTO_CALL, 1),
		update: func(_ context.Context, n int) error {
			return c.affect(c.bodies[update][key(n)])
		},
		insert: func(context.Context, int) error {
			return c.affect(withID(c.insert, c.server.newID()))
		},
		blob: func(context.Context, int) error {
			reply, err := c.send(iproto.IPROTO_EXECUTE, c.bodies[blob][1])
			if err != nil {
				return err
			}
			return checkBlob(min(len(reply), blobSize)) // and what is around it
		},
	}
}

// names is a request whose reply ends with the name of the last row.
func (c *floorClient) names(of string, kind iproto.Type, rows int) operation {
	bodies := c.bodies[of]
	return func(_ context.Context, n int) error {
		first := firstOf(n, rows)
		reply, err := c.send(kind, bodies[first])
		if err != nil {
			return err
		}
		want := c.server.names[first+rows-1]
		if len(reply) < len(want) || string(reply[len(reply)-len(want):]) != want {
			return fmt.Errorf("the reply does not end with %q", want)
		}
		return nil
	}
}

// affect sends a request whose reply ends with the number of rows affected.
func (c *floorClient) affect(body []byte) error {
	reply, err := c.send(iproto.IPROTO_EXECUTE, body)
	if err != nil {
		return err
	}
	if len(reply) == 0 {
		return checkAffected(0)
	}
	return checkAffected(int64(reply[len(reply)-1]))
}

func (c *floorClient) send(kind iproto.Type, body []byte) ([]byte, error) {
	response, err := c.conn.Do(&encodedRequest{kind, body}).GetResponse()
	if err != nil {
		return nil, err
	}
	if code := response.Header().Error; code != tarantool.ErrorNo {
		_, err := response.Decode()
		return nil, fmt.Errorf("%s: %w", code, err)
	}
	return response.(*rawResponse).body, nil
}

// encodedRequest is a request whose body is encoded.
type encodedRequest struct {
	kind iproto.Type
	body []byte
}

func (r *encodedRequest) Type() iproto.Type { return r.kind }

func (r *encodedRequest) Ctx() context.Context { return nil }

func (r *encodedRequest) Async() bool { return false }

func (r *encodedRequest) Body(_ tarantool.SchemaResolver, e *msgpack.Encoder) error {
	return msgpack.RawMessage(r.body).EncodeMsgpack(e)
}

func (r *encodedRequest) Response(header tarantool.Header, body io.Reader) (tarantool.Response, error) {
	response := &rawResponse{header: header}
	if b, ok := body.(interface{ Bytes() []byte }); ok {
		response.body = b.Bytes()
	}
	return response, nil
}

// rawResponse is a response that is not decoded.
type rawResponse struct {
	header tarantool.Header
	body   []byte
}

func (r *rawResponse) Header() tarantool.Header { return r.header }

var errRaw = errors.New("the response is not decoded")

func (r *rawResponse) Decode() ([]any, error) { return nil, errRaw }

func (r *rawResponse) DecodeTyped(any) error { return errRaw }
