package failover

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // go-tarantool's pool
	goleak.VerifyTestMain(m, ProxyLinks...)
}
