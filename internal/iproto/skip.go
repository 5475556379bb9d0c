package iproto

// Skip returns the length of the well-formed MessagePack value that b begins
// with. Arrays and maps may be nested maxDepth deep.
func Skip(b []byte, maxDepth int) (int, error) {
	s := scanner{b: b}
	if err := s.skip(1, maxDepth); err != nil {
		return 0, err
	}
	return s.pos, nil
}
