package tntsql

// result is what a statement did.
type result struct {
	affected int64
	ids      []int64
}

// LastInsertId is the first id that the statement generated, or 0: of the
// several that a multi-row INSERT generates, the first is what callers can
// count up from. Capture gives all of them.
func (r result) LastInsertId() (int64, error) {
	if len(r.ids) == 0 {
		return 0, nil
	}
	return r.ids[0], nil
}

// RowsAffected is the server's count. REPLACE of an existing row counts 2.
func (r result) RowsAffected() (int64, error) { return r.affected, nil }
