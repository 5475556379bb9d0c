package pool

// Room is how much of max_in_flight is taken at each instance.
func (p *Pool) Room() (taken []int) {
	for _, in := range p.current.Load().members {
		taken = append(taken, in.conns.budget.Used())
	}
	return taken
}
