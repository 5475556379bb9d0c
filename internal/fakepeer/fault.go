package fakepeer

// These scripts answer as a server does that has lost, or a link that breaks,
// what it should send.

// Lose answers nothing.
func Lose(*Session, Request) bool { return true }

// Mute makes the peer answer nothing, whatever its scripts say. What arrives
// meanwhile is lost for good.
func (p *Peer) Mute(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = on
}

// Cut closes the connection in place of an answer.
func Cut(s *Session, _ Request) bool {
	s.Close()
	return true
}

// CutShort sends the first half of the answer and closes the connection.
func CutShort(s *Session, r Request) bool {
	frame := s.peer.answer(r)
	s.Write(frame[:len(frame)/2])
	s.Close()
	return true
}

// Double answers twice.
func Double(s *Session, r Request) bool {
	s.Answer(r)
	s.Answer(r)
	return true
}

// Garble answers with a body of the right length that is no MessagePack.
func Garble(s *Session, r Request) bool {
	frame := s.peer.answer(r)
	for i := len(Frame(r.Sync, 0, nil)); i < len(frame); i++ {
		frame[i] = 0xc1
	}
	s.Write(frame)
	return true
}

// Late answers once ready is closed; later requests are answered meanwhile.
func Late(ready <-chan struct{}) Script {
	return func(s *Session, r Request) bool {
		s.peer.running.Go(func() {
			select {
			case <-ready:
				s.Answer(r)
			case <-s.peer.closed:
			}
		})
		return true
	}
}
