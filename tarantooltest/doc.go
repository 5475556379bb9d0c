// Package tarantooltest starts real Tarantool replica sets for tests.
//
//	func TestFailover(t *testing.T) {
//		rs := tarantooltest.Start(t)
//		db, err := sql.Open("tarantool", rs.DSN())
//		...
//		rs.Kill(0)
//		err = rs.Promote(1)
//		...
//	}
//
// The binary is $TARANTOOL, else tarantool in PATH; versions from 2.6 to 3.8
// work. A replica set of three instances is there in well under a second.
// Its instances listen on free ports of 127.0.0.1 and keep their data in a
// temporary directory, so tests can run in parallel. Each replicates from all
// others; one, the master, is writable, and stays it until Promote. On servers
// from 2.10 on memtx_use_mvcc_engine is on, which transactions over the network
// need.
//
// No instance outlives the process that started it. On Linux the kernel sees to
// that, whatever happens to either; only the temporary directory stays when
// the process is killed. On other systems an instance ends when it notices that
// the process is gone, which a stopped or busy one does not. Ctrl-C in a terminal
// reaches the test process only, not the instances.
package tarantooltest
