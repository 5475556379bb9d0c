package pool

import (
	"fmt"
	"slices"
	"time"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
)

// deniedPause is how often an instance is asked for its peers where the user may
// not: an administrator may have granted it.
const deniedPause = 30 * time.Second

// errDenied is of an instance whose peers are wanted.
var errDenied = fmt.Errorf("discovery=replication: the user may not ask it for its peers; an administrator grants it: %s", grantHint)

const grantHint = "box.schema.func.create('box.info'); box.schema.user.grant(user, 'execute', 'function', 'box.info')"

// wantsPeers tells whether the instance should be asked for its peers: when it
// has been connected to, something else of it has changed, or they may have
// changed without a word.
func (in *instance) wantsPeers() bool {
	o := in.pool.options
	switch {
	case !o.Peers:
		return false
	case in.relist:
		return true
	case in.state.Denied:
		return time.Since(in.listed) >= max(deniedPause, o.RefreshInterval)
	case in.missesPeer():
		return time.Since(in.listed) >= o.RefreshInterval/2 // rests are shorter than it, and of any length
	}
	return time.Since(in.listed) >= watchedPolls*o.RefreshInterval
}

// missesPeer tells whether the instance lists one that it does not follow and
// that is not known otherwise: it may follow it soon, as after a restart.
func (in *instance) missesPeer() bool {
	known := in.pool.Snapshot().Instances
	for _, p := range in.state.Peers {
		there := func(o discovery.Instance) bool { return o.UUID == p.UUID && o.Connected() }
		if p.Address == "" && p.UUID != in.state.UUID && !slices.ContainsFunc(known, there) {
			return true
		}
	}
	return false
}

func peers(info iproto.BoxInfo) []discovery.Peer {
	list := make([]discovery.Peer, len(info.Peers))
	for i, p := range info.Peers {
		list[i] = discovery.Peer(p)
	}
	return list
}

// warnDenied says once if no instance tells its peers because the user may not
// ask.
func (m *membership) warnDenied(known []discovery.Instance) {
	denied := ""
	for i := range known {
		switch {
		case len(known[i].Peers) > 0:
			return
		case known[i].Denied:
			denied = known[i].Address
		}
	}
	if denied != "" && !m.denied {
		m.denied = true
		m.pool.options.Logger.Warn("discovery=replication: the user may not call box.info on any instance, so there are only the hosts that were given",
			"address", denied, "grant", grantHint)
	}
}
