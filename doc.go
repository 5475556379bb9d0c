// Package tntsql is a database/sql driver for Tarantool that knows the replica
// set. A DSN lists its instances; each statement goes to one that may serve it,
// and a change of master is followed.
//
//	db, err := sql.Open("tarantool", "tarantool://app:secret@10.0.0.1,10.0.0.2,10.0.0.3/")
//
// [ParseDSN] describes the form of the DSN, and [Config] each parameter. Tarantool 2.6 and newer is supported.
//
// # Which instance serves a statement
//
// Statements that write, DDL and whatever the driver does not recognize go to a read-write
// instance. Reads go to any healthy instance, or as the parameter read_mode
// says. A [Mode] in the context decides for one statement:
//
//	ctx := tntsql.WithMode(ctx, tntsql.ModeRW)
//	err := db.QueryRowContext(ctx, "SELECT name FROM users WHERE id = ?", 1).Scan(&name)
//
// A text that begins with a hint does the same without a context:
//
//	/*+ mode=rw */ SELECT name FROM users WHERE id = ?
//
// Replication is asynchronous: a replica may not have the latest writes of others
// yet. Within a session, as [WithSession] or a held sql.Conn begin one, reads see the
// session's own. What must see all of them reads with ModeRW. A read that is sent by Exec goes to a
// read-write instance, as it was not sent for its rows. [Capture] tells which
// instance served a statement.
//
// When no instance of a mode is there, a statement waits for one up to
// selection_timeout and then fails with a [NoInstanceError]. When the connection
// is lost after a write was sent, the write is not sent again: the error is an
// [OutcomeUnknownError].
//
// # Prepared statements
//
// A read whose text is used again is prepared on the server, per connection, whether
// it is sent by a sql.Stmt or not (stmt_cache): outside transactions, and unless it
// calls a user's function or, before Tarantool 3.7.1 and 3.8.0, contains a literal.
// sql.DB.Prepare asks an instance about a text the first time, for the sake of its
// errors, and does no I/O after that.
//
// # Procedures
//
// [Call] and [Eval] run a stored procedure and a Lua chunk on any handle of
// database/sql, and so do the methods of [*Conn] through sql.Conn.Raw.
//
// # Sessions
//
// All sessions of a handle share a few connections to each instance, so
// sql.DB.SetMaxOpenConns bounds statements in progress, not sockets. What
// Tarantool keeps per session (box.session.storage, box.session.su, session
// settings) is shared by all users of a handle, and statements that would change it
// are refused with [ErrSessionStatement].
//
// # Transactions
//
// [RunTx] runs a function in a transaction, and again after a conflict or a failover;
// sql.DB.BeginTx is there too. They need Tarantool 2.10 or newer, and for memtx
// spaces memtx_use_mvcc_engine. [ExecBatch] runs statements as one transaction on every
// version.
package tntsql
