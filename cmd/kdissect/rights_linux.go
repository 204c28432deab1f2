package main

import (
	"fmt"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// dropRights gives up what was needed to open the capture, for all threads and for good: every capability, and the way to get any by running a program. If a
// user is named, the process goes on as that one, and with the user's groups.
func dropRights(name string) error {
	if name != "" {
		if err := become(name); err != nil {
			return fmt.Errorf("--user %s: %w", name, err)
		}
	}
	if _, _, failed := psx.Syscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); failed != 0 {
		return fmt.Errorf("giving up the right to get rights: %w", failed)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, failed := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&none)
	if failed != 0 {
		return fmt.Errorf("giving up rights: %w", failed)
	}
	return nil
}

// become changes the user and the groups of all threads. A number needs no list of users: an image FROM scratch has none. The group has the same
// number then.
func become(name string) error {
	account, err := user.Lookup(name)
	if id, numeric := strconv.ParseUint(name, 10, 31); err != nil && numeric == nil {
		account, err = &user.User{Uid: strconv.Itoa(int(id)), Gid: strconv.Itoa(int(id))}, nil
	}
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(account.Gid)
	if err != nil {
		return err
	}
	groups := []int{gid}
	if ids, err := account.GroupIds(); err == nil {
		for _, id := range ids {
			if n, err := strconv.Atoi(id); err == nil && n != gid {
				groups = append(groups, n)
			}
		}
	}
	if err := syscall.Setgroups(groups); err != nil {
		return err
	}
	if err := syscall.Setgid(gid); err != nil {
		return err
	}
	return syscall.Setuid(uid)
}
