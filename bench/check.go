package bench

import "fmt"

// checkName compares the name that a client has read with that of the row.
func (s *server) checkName(id int, name any) error {
	if name != s.names[id] {
		return fmt.Errorf("the name of row %d is %q, not %q", id, name, s.names[id])
	}
	return nil
}

// checkRows compares what a client has read of several rows with what there is.
func (s *server) checkRows(got, want, last int, name any) error {
	if got != want {
		return fmt.Errorf("%d rows, not %d", got, want)
	}
	return s.checkName(last, name)
}

func checkBlob(size int) error {
	if size != blobSize {
		return fmt.Errorf("a BLOB of %d bytes, not %d", size, blobSize)
	}
	return nil
}

func checkAffected(n int64) error {
	if n != 1 {
		return fmt.Errorf("%d rows affected, not 1", n)
	}
	return nil
}

// checkOnly checks a result of one row, that has only a name.
func (s *server) checkOnly(data []any, id int) error {
	row, ok := lastRow(data)
	if !ok {
		return fmt.Errorf("no row %d", id)
	}
	return s.checkRows(len(data), 1, id, row[0])
}

// lastRow is the last one of what go-tarantool returned.
func lastRow(data []any) (row []any, ok bool) {
	if len(data) == 0 {
		return nil, false
	}
	row, ok = data[len(data)-1].([]any)
	return row, ok && len(row) > 0
}

// checkLast checks a result of several rows, whose last column is the name.
func (s *server) checkLast(data []any, first, want int) error {
	row, ok := lastRow(data)
	if !ok {
		return fmt.Errorf("no rows from %d on", first)
	}
	return s.checkRows(len(data), want, first+want-1, row[len(row)-1])
}

func checkOnlyBlob(data []any) error {
	row, _ := lastRow(data)
	if len(row) == 0 {
		return checkBlob(0)
	}
	value, _ := row[0].([]byte)
	return checkBlob(len(value))
}

// checkReturned checks what the procedure has returned.
func (s *server) checkReturned(data []any, id int) error {
	if len(data) != 1 {
		return fmt.Errorf("%d values returned, not 1", len(data))
	}
	return s.checkName(id, data[0])
}
