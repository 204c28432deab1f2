package main

import (
	"fmt"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// inNamespace calls a function in the network namespace of a process, by its number, or of a path such as /run/netns/blue. An empty name is the present one.
func inNamespace(name string, call func() error) error {
	if name == "" {
		return call()
	}
	path := name
	if _, err := strconv.Atoi(name); err == nil {
		path = "/proc/" + name + "/ns/net"
	}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine, so nothing else runs in that namespace
		failed <- enter(path, call)
	}()
	return <-failed
}

func enter(path string, call func() error) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("--netns: %s: %w", path, err)
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("--netns: entering %s: %w", path, err)
	}
	return call()
}
