package pool

import (
	"sync"
	"sync/atomic"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
)

// mailbox keeps what the server pushed last, by key, until run reads it.
type mailbox struct {
	arrived  chan struct{}
	readOnly atomic.Bool // by the last event that said so
	mu       sync.Mutex
	events   map[string]iproto.InstanceEvent
}

func newMailbox() mailbox { return mailbox{arrived: make(chan struct{}, 1)} }

// event takes an event in. It runs in a connection's reader, before the reply
// that follows.
func (in *instance) event(key string, value []byte) error {
	if value == nil {
		return nil // the key has no value yet
	}
	var e iproto.InstanceEvent
	if key != iproto.ShutdownKey {
		var err error
		if e, err = iproto.ParseInstanceEvent(key, value); err != nil {
			return err
		}
	}
	if key == iproto.SchemaKey {
		in.conns.schema.Store(e.Schema)
	}
	in.mail.put(key, e)
	return nil
}

func (m *mailbox) put(key string, e iproto.InstanceEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.events == nil {
		m.events = make(map[string]iproto.InstanceEvent)
	}
	m.events[key] = e
	if key == iproto.StatusKey {
		m.readOnly.Store(e.ReadOnly)
	}
	signal(m.arrived)
}

func (m *mailbox) take() map[string]iproto.InstanceEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	m.events = nil
	return events
}

// read brings the state up to what was pushed.
func (in *instance) read() {
	if in.control == nil {
		in.mail.take()
		return
	}
	if in.apply(&in.state) {
		in.relist = in.pool.options.Peers && !in.state.Denied
		in.publish()
	}
}

// apply writes what was pushed into the state, and tells whether there was
// anything.
func (in *instance) apply(state *discovery.Instance) bool {
	events := in.mail.take()
	for key, e := range events {
		switch key {
		case iproto.StatusKey:
			in.status = discovery.ServerStatus(e.Status)
			state.Role = roleOf(e.ReadOnly)
			if state.Status != discovery.StatusSuspect && state.Status != discovery.StatusShutdown {
				state.Status = in.status
			}
		case iproto.IDKey:
			state.ReplicaSet, state.Name = e.ReplicaSet, e.Name
		case iproto.ElectionKey:
			state.Term = e.Term
		case iproto.SchemaKey:
			state.Schema = e.Schema
		}
	}
	if _, ok := events[iproto.ShutdownKey]; ok {
		in.status, state.Status = discovery.StatusShutdown, discovery.StatusShutdown
	}
	return len(events) > 0
}

func roleOf(readOnly bool) discovery.Role {
	if readOnly {
		return discovery.RoleRO
	}
	return discovery.RoleRW
}
