package main

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// think is how long a client or the server waits before each frame.
	think = 50 * time.Millisecond
	// lingering is how long the server leaves a connection open whose client has closed its side.
	lingering = 30 * time.Second
)

// A crowd is clients of a server, and counts what is said.
type crowd struct {
	talks               []talk
	listener            net.Listener
	connections         int
	requests, responses atomic.Int64
	present             sync.WaitGroup
	failed              atomic.Pointer[error] // the first that one of them met
}

func newCrowd(talks []talk) (*crowd, error) {
	l, err := net.Listen("tcp", "127.0.0.1:9092")
	return &crowd{talks: talks, listener: l}, err
}

// come lets clients come at a rate a second, for some time. It opens sockets, so it must be called on the network's thread; they talk on any.
func (c *crowd) come(length time.Duration, rate int) error {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for start := time.Now(); time.Since(start) < length; <-tick.C {
		client, err := net.Dial("tcp", c.listener.Addr().String())
		if err != nil {
			return err
		}
		server, err := c.listener.Accept()
		if err != nil {
			return err
		}
		number := c.connections
		c.connections++
		c.present.Go(func() {
			if err := c.meet(number, client.(*net.TCPConn), server.(*net.TCPConn)); err != nil {
				err = fmt.Errorf("connection %d: %w", number, err)
				c.failed.CompareAndSwap(nil, &err)
			}
		})
	}
	return nil
}

// leave waits until all have gone, and half a second more for what they said last.
func (c *crowd) leave() error {
	c.present.Wait()
	time.Sleep(500 * time.Millisecond)
	if err := c.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// meet says all that is said on a connection, and ends it in one of several ways.
func (c *crowd) meet(number int, client, server *net.TCPConn) error {
	defer client.Close()
	defer server.Close()
	talk := c.talks[number%len(c.talks)]
	for _, f := range talk {
		time.Sleep(think)
		if err := c.say(f, client, server); err != nil {
			return err
		}
	}
	switch number / len(c.talks) % 4 {
	case 0: // a question that finds no answer, and a reset
		if err := c.say(talk[0], client, server); err != nil {
			return err
		}
		return client.SetLinger(0)
	case 1: // half of it stays open
		if err := client.CloseWrite(); err != nil {
			return err
		}
		time.Sleep(lingering)
	}
	return nil
}

// say sends a frame and waits until it has come.
func (c *crowd) say(f frame, client, server *net.TCPConn) error {
	from, to, count := client, server, &c.requests
	if !f.client {
		from, to, count = server, client, &c.responses
	}
	if _, err := from.Write(f.data); err != nil {
		return err
	}
	count.Add(1)
	_, err := io.ReadFull(to, make([]byte, len(f.data)))
	return err
}
