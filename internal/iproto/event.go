package iproto

import (
	"fmt"

	"github.com/tarantool/go-iproto"
)

// ParseEvent reads the body of an IPROTO_EVENT: a key, and its value as it
// came, nil if the key has none.
func ParseEvent(body []byte) (key string, value []byte, err error) {
	s := scanner{b: body}
	err = s.fields(func(field int) (bool, error) {
		var err error
		switch iproto.Key(field) {
		case iproto.IPROTO_EVENT_KEY:
			key, err = s.text()
		case iproto.IPROTO_EVENT_DATA:
			value, err = s.raw()
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil && key == "" {
		err = fmt.Errorf("%w: event without a key", ErrMalformed)
	}
	if err != nil {
		return "", nil, err
	}
	return key, value, nil
}

// Keys that every user may watch, and what their values say.
const (
	StatusKey   = "box.status"
	IDKey       = "box.id"
	ElectionKey = "box.election"
	SchemaKey   = "box.schema"
	ShutdownKey = "box.shutdown"
)

// InstanceEvent is what an event of StatusKey, IDKey, ElectionKey or SchemaKey says; the
// fields of the other keys are zero.
type InstanceEvent struct {
	Status     string // box.status
	ReadOnly   bool   // box.status: in effect
	UUID       string // box.id
	ReplicaSet string // box.id: its uuid
	Name       string // box.id, since 3.0
	Term       uint64 // box.election
	Leader     uint64 // box.election: its id in the replica set, 0 for none
	Schema     uint64 // box.schema: counts changes of the schema
}

// ParseInstanceEvent reads the value of an event of StatusKey, IDKey, ElectionKey
// or SchemaKey. One without the field that the key is for says nothing, but that
// of an instance which has seen no election yet is empty.
func ParseInstanceEvent(key string, value []byte) (InstanceEvent, error) {
	var (
		e    InstanceEvent
		role bool
		term bool
	)
	s := scanner{b: value, typed: true}
	err := s.names(func(name string) (read bool, err error) {
		switch name {
		case "status":
			e.Status, err = s.optionalName()
		case "is_ro":
			role = true
			e.ReadOnly, err = s.bool()
		case "instance_uuid":
			e.UUID, err = s.optionalUUID()
		case "replicaset_uuid":
			e.ReplicaSet, err = s.optionalUUID()
		case "instance_name":
			e.Name, err = s.optionalName()
		case "term":
			term = true
			e.Term, err = s.uint()
		case "version":
			e.Schema, err = s.uint()
		case "leader":
			e.Leader, err = s.uint()
		default:
			return false, nil
		}
		return true, err
	})
	complete := key == StatusKey && role && e.Status != "" ||
		key == IDKey && e.ReplicaSet != "" ||
		key == ElectionKey && (term || isEmpty(value)) ||
		key == SchemaKey && e.Schema != 0
	if err == nil && !complete {
		err = fmt.Errorf("%w: incomplete value of %s", ErrMalformed, key)
	}
	if err != nil {
		return InstanceEvent{}, err
	}
	return e, nil
}

// isEmpty tells of an empty map or, as Lua cannot tell them apart, array.
func isEmpty(value []byte) bool {
	return len(value) == 1 && (value[0] == 0x80 || value[0] == 0x90)
}

// optionalUUID reads a UUID extension as its text, or anything else as none.
func (s *scanner) optionalUUID() (string, error) {
	v, err := s.value()
	if err != nil {
		return "", err
	}
	uuid, ok := v.(UUID)
	if !ok {
		return "", nil
	}
	return uuid.String(), nil
}
