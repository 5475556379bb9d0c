package gormtarantool_test

import (
	"context"
	"fmt"
	"log"

	"gorm.io/gorm"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/gormtarantool"
	"github.com/tntsql/tntsql/tarantooltest"
)

type Writer struct {
	ID    uint
	Name  string `gorm:"uniqueIndex"`
	Works []Work
	Tags  []Tag `gorm:"many2many:writer_tags"`
}

type Work struct {
	ID       uint
	WriterID uint
	Title    string
}

type Tag struct {
	ID   uint
	Name string
}

// replicaSet gives the DSN of a new replica set, and what ends it. Without a Tarantool
// binary nobody is at the DSN.
func replicaSet() (dsn string, end func()) {
	rs, err := tarantooltest.New(context.Background(), tarantooltest.Instances(2))
	if err != nil {
		fmt.Println(err)
		return "tarantool://127.0.0.1:1/?selection_timeout=0", func() {}
	}
	return rs.DSN("seq_scan=true"), func() {
		if err := rs.Close(); err != nil {
			fmt.Println(err)
		}
	}
}

func ExampleOpen() {
	dsn, end := replicaSet() // "tarantool://app:secret@10.0.0.1,10.0.0.2,10.0.0.3/?seq_scan=true"
	defer end()

	db, err := gorm.Open(gormtarantool.Open(dsn), &gorm.Config{})
	if err != nil {
		log.Println(err)
		return
	}
	if pool, err := db.DB(); err == nil {
		defer pool.Close()
	}
	if err := db.AutoMigrate(&Writer{}, &Work{}, &Tag{}); err != nil {
		log.Println(err)
		return
	}
	writer := Writer{
		Name:  "Ann",
		Works: []Work{{Title: "One"}, {Title: "Two"}},
		Tags:  []Tag{{Name: "new"}},
	}
	if err := db.Create(&writer).Error; err != nil {
		log.Println(err)
		return
	}

	// Reads of a session see its own writes, on replicas too.
	db = db.WithContext(tntsql.WithSession(context.Background()))
	db.Save(&Work{WriterID: writer.ID, Title: "Three"})
	var found Writer
	err = db.Preload("Works").Preload("Tags").First(&found, "name = ?", "Ann").Error
	fmt.Println(found.ID, len(found.Works), found.Tags[0].Name, err)
	// Output: 1 3 new <nil>
}

func ExampleNew() {
	dsn, end := replicaSet()
	defer end()

	// A schema made under 2.x has names in upper case. On 3.x FoldAlways finds them.
	db, err := gorm.Open(gormtarantool.New(gormtarantool.Config{
		DSN:       dsn,
		FoldNames: gormtarantool.FoldAlways,
	}), &gorm.Config{TranslateError: true})
	if err != nil {
		log.Println(err)
		return
	}
	if pool, err := db.DB(); err == nil {
		defer pool.Close()
	}
	fmt.Println(db.Name())
	// Output: tarantool
}
