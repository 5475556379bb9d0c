package tntsql_test

import (
	"os"
	osexec "os/exec"
	"syscall"
	"testing"
)

// hideZones runs its arguments where no zone files are: in a mount namespace, with an
// empty directory in the place of each that Go looks at.
const hideZones = `
set -e
for dir in /usr/share/zoneinfo /usr/share/lib/zoneinfo /usr/lib/locale/TZ /etc/zoneinfo; do
	if [ -d $dir ]; then mount -t tmpfs none $dir; fi
done
exec "$@"`

func TestTimesOfAHostWithoutZoneFiles(t *testing.T) {
	newTypes(t)
	hidden := func(args ...string) *osexec.Cmd {
		cmd := osexec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", hideZones, "sh"}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		return cmd
	}
	if out, err := hidden("/bin/true").CombinedOutput(); err != nil {
		t.Skipf("this host has no mount namespaces for its users: %v: %s", err, out)
	}
	runTimes(t, hidden(os.Args[0]), []string{
		"TZ=Europe/Berlin", "GOROOT=/nowhere", childDSN + "=" + sharedSet(t).DSN("read_mode=rw"), childZones + "=false", childLocal + "=0",
	})
}
