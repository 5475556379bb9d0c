package tarantooltest_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tntsql/tntsql/tarantooltest"
)

func Example() {
	rs, err := tarantooltest.New(context.Background(), tarantooltest.Instances(2))
	if err != nil {
		log.Fatal(err)
	}
	defer rs.Close()

	rs.Kill(0)
	fmt.Println("master:", rs.Master())
	if err := rs.Promote(1); err != nil {
		log.Fatal(err)
	}
	values, err := rs.Lua(1, "return box.info.id, not box.info.ro")
	fmt.Println("master:", rs.Master(), values, err)
	// Output:
	// master: -1
	// master: 1 [2 true] <nil>
}
