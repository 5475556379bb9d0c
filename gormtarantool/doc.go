// Package gormtarantool lets GORM work with Tarantool, through the driver
// [github.com/tntsql/tntsql].
//
//	db, err := gorm.Open(gormtarantool.Open("tarantool://app:secret@host1,host2,host3/?seq_scan=true"), &gorm.Config{})
//
// The DSN names all instances of a replica set. The driver sends writes to the master
// and reads where read_mode says, so GORM's dbresolver is not needed. A Mode or a
// session in the statement's context works as it does without GORM:
//
//	db.WithContext(tntsql.WithMode(ctx, tntsql.ModeRW)).First(&user, 1)
//	db = db.WithContext(tntsql.WithSession(ctx)) // reads see this session's writes
//
// The Migrator always works under ModeRW: a replica that lags behind must not make
// it do twice what has been done.
//
// # What the server decides
//
// The server's version and whether it has transactions over the network are learnt
// when the handle is opened. Where transactions cannot work (before 2.10, and for
// memtx tables without box.cfg.memtx_use_mvcc_engine), SkipDefaultTransaction is
// set: each statement is atomic by itself, a Create with associations is not. The README
// lists what else depends on the version.
package gormtarantool
