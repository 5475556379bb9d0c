package pool

import (
	"math/rand/v2"
	"time"

	"github.com/tntsql/tntsql/discovery"
)

// pause is how long to rest before the next round.
func (in *instance) pause() time.Duration {
	if in.parked {
		return standbyLook
	}
	o := in.pool.options
	watched := in.control != nil && in.control.Watches()
	if in.pool.waiting.Load() > 0 && !watched {
		in.quick = min(max(in.quick*3/2, firstPause), longPause)
		return in.quick
	}
	in.quick = 0
	switch {
	case in.control == nil:
		in.lengthen()
		return in.backoff
	case in.state.Status == discovery.StatusSuspect, in.state.Status == discovery.StatusShutdown, in.spare.begun():
		return firstPause // a check of a suspect has itself taken its time
	}
	if in.pool.coversWanted() {
		return coverInterval
	}
	if o.MaxLag > 0 {
		return min(o.RefreshInterval, max(o.MaxLag/3, firstPause))
	}
	return o.RefreshInterval
}

// lengthen makes the next pause between two attempts to connect longer.
func (in *instance) lengthen() { in.backoff = min(max(in.backoff*2, firstPause), maxBackoff) }

// rest waits out the pause, less some jitter so that a thousand clients do not
// ask at once, or until there is a reason for the next round.
func (in *instance) rest(pause time.Duration) {
	timer := time.NewTimer(pause - rand.N(pause/5))
	defer timer.Stop()
	e := events{timer.C, nil, in.asked, in.lost, in.hurry, in.mail.arrived}
	if in.control == nil {
		e.lost = nil // that was it, or a data connection, which nobody misses
	}
	for {
		if pause <= firstPause {
			e.hurry = nil
		}
		switch in.attend(e) {
		case somebodyWaits:
			timer.Reset(firstPause)
			pause = firstPause // once: those who come later must not put it off
		case wasAsked:
			in.due = true
			return
		case gotMail:
			in.read()
			if in.relist || in.state.Status == discovery.StatusShutdown {
				return
			}
		default:
			return
		}
	}
}

// events are what ends attend. Those that are nil do not.
type events struct {
	over                              <-chan time.Time
	done, asked, lost, hurry, arrived <-chan struct{}
}

// event is what has ended attend.
type event int

const (
	timeIsOver event = iota
	wasAsked
	somebodyWaits
	gotMail
)

// attend opens data connections and looks after those that have work, until
// something else is to be done.
func (in *instance) attend(e events) event {
	look, stop := in.startLooking()
	defer func() { stop() }()
	for {
		select {
		case <-in.ctx.Done():
			return timeIsOver
		case <-e.over:
			return timeIsOver
		case <-e.done:
			return timeIsOver
		case <-e.lost:
			return timeIsOver
		case <-e.asked:
			return wasAsked
		case <-e.hurry:
			return somebodyWaits
		case <-e.arrived:
			return gotMail
		case <-in.conns.data.wanted:
			in.open(&in.conns.data)
		case <-in.conns.streams.wanted:
			in.open(&in.conns.streams)
		case d := <-in.conns.data.dialed:
			in.conns.data.add(d, in.state.UUID)
		case d := <-in.conns.streams.dialed:
			in.conns.streams.add(d, in.state.UUID)
		case <-in.stir:
			stop()
			look, stop = in.startLooking()
		case <-look:
			if in.look() && e.asked != nil {
				return timeIsOver
			}
			if !in.busy.Load() {
				stop()
				look = nil
			}
		}
	}
}
