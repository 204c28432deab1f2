package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxBrokerPorts bounds a default expression.
const maxBrokerPorts = 64

// defaultExpression is what is captured if nothing is said: the ports that Java processes listen on. what says it in words.
func defaultExpression() (expression, what string) {
	ports, hidden := javaPorts()
	switch {
	case len(ports) > maxBrokerPorts:
		return "tcp", fmt.Sprintf("tcp, as Java processes listen on more than %d ports", maxBrokerPorts)
	case len(ports) == 0 && hidden:
		return "tcp", "tcp, as no Java process of this user listens on a port, and those of others cannot be looked into; ports can be named: tcp port 9092"
	case len(ports) == 0:
		return "tcp", "tcp, as no Java process was found to listen on a port"
	}
	var list []string
	for _, port := range ports {
		list = append(list, strconv.Itoa(port))
	}
	expression = "tcp and (port " + strings.Join(list, " or ") + ")"
	return expression, expression + ", where Java processes listen"
}

// javaPorts returns the ports of TCP that Java processes listen on in the network namespace of the calling thread, in order. It
// finds those of processes that the user may look into; hidden tells that there are others.
func javaPorts() (ports []int, hidden bool) {
	listening := make(map[string]int) // ports by the name of the socket among the files of a process
	for _, table := range []string{"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"} {
		file, err := os.Open(table)
		if err != nil {
			continue
		}
		addListening(listening, bufio.NewScanner(file))
		file.Close()
	}
	programs, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, program := range programs {
		target, err := os.Readlink(program)
		hidden = hidden || errors.Is(err, fs.ErrPermission)
		if err != nil || filepath.Base(strings.TrimSuffix(target, " (deleted)")) != "java" {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(filepath.Dir(program), "fd", "*"))
		for _, file := range files {
			if target, err := os.Readlink(file); err == nil && listening[target] != 0 {
				ports = append(ports, listening[target])
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports), hidden
}

// addListening reads a table of sockets, as proc(5) has it: the second column is the local address and port in hexadecimal, the fourth the
// state, the tenth the inode.
func addListening(listening map[string]int, table *bufio.Scanner) {
	const stateListen = "0A"
	for table.Scan() {
		columns := strings.Fields(table.Text())
		if len(columns) < 10 || columns[3] != stateListen {
			continue
		}
		_, port, _ := strings.Cut(columns[1], ":")
		if n, err := strconv.ParseUint(port, 16, 16); err == nil {
			listening[fmt.Sprintf("socket:[%s]", columns[9])] = int(n)
		}
	}
}
