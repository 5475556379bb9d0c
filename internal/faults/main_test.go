package faults

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tntsql/tntsql/internal/failover"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, failover.ProxyLinks...) }
