package netlab

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Test runs a test as Alone does. It is skipped where the rights for that are missing, and nowhere else.
func Test(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	NeedProgram(t, "ip")
	err := Alone(func() error {
		test(t)
		return nil
	})
	if errors.Is(err, fs.ErrPermission) {
		missing(t, err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// Alone calls a function in a network that has nothing but a loopback interface: on a thread of its own, which programs are started
// from and sockets are opened on. An error for want of rights is fs.ErrPermission.
func Alone(call func() error) error {
	failed := make(chan error, 1)
	go func() {
		defer close(failed)    // also where a test ends the goroutine
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			failed <- fmt.Errorf("a network of its own: %w", err)
			return
		}
		if err := IP("link set lo up"); err != nil {
			failed <- err
			return
		}
		failed <- call()
	}()
	return <-failed
}

// Wire makes two interfaces that are the ends of a wire, and waits until packets pass. They say nothing by themselves.
func Wire(left, right string) error {
	commands := []string{
		"link add " + left + " type veth peer name " + right,
		"link set " + left + " addrgenmode none up",
		"link set " + right + " addrgenmode none up",
	}
	for _, command := range commands {
		if err := IP(command); err != nil {
			return err
		}
	}
	return errors.Join(running(left), running(right))
}

// running waits until an interface is ready. The kernel looks at new ones once a second; up to then it drops what is sent.
func running(name string) error {
	for range 500 {
		if i, err := net.InterfaceByName(name); err != nil {
			return err
		} else if i.Flags&net.FlagRunning != 0 {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("%s does not become ready", name)
}

// IP runs the program ip in the network of the thread.
func IP(command string) error {
	if out, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", command, err, out)
	}
	return nil
}

// SmallDisk puts a file system of so many MiB in place of a directory, for the thread and the programs that it starts.
func SmallDisk(directory string, size int) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("mounts of its own: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keeping mounts to itself: %w", err)
	}
	return unix.Mount("tmpfs", directory, "tmpfs", 0, fmt.Sprintf("size=%dm", size))
}
