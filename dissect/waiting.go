package dissect

import "github.com/kdissect/kdissect/reassembly"

// Waiting hands over what hangs: of each of these connections the exchange of the oldest request, if its answer has been waited for longer at a time now
// than the broker may wait by design, by patience or more. Those behind it wait for it. It returns how many of the connections carry Kafka.
//
// Nothing is told where the answer may be there but not in the capture. All times are in nanoseconds.
func (d *Dissector) Waiting(connections []*reassembly.Connection, now, patience int64) (kafka int64) {
	for _, sc := range connections {
		c, ok := sc.Consumer.(*conn)
		if !ok || !c.kafka() {
			continue
		}
		kafka++
		if r := c.oldest(); r != nil && c.waited(r, now).Excess >= patience {
			c.tellOpen(r, now)
		}
	}
	return kafka
}

// maxTold bounds what a call of TellWaiting tells.
const maxTold = 100

// TellWaiting reports the same requests, each once, as findings of messages that were handed over before.
func (d *Dissector) TellWaiting(connections []*reassembly.Connection, now, patience int64) {
	told := 0
	for _, sc := range connections {
		c, ok := sc.Consumer.(*conn)
		if !ok || !c.kafka() || sc.Reset {
			continue
		}
		r := c.oldest()
		if r == nil || r.told || c.waited(r, now).Excess < patience {
			continue
		}
		r.told = true
		c.report(r.number, finding(Waiting, Warn, -1, "%s has had no answer for %.1f s%s", r.what(), float64(now-r.end)/1e9, allowance(r)))
		if told++; told == maxTold {
			return
		}
	}
}

// oldest is the request that the broker is at, nil where that is not known.
func (c *conn) oldest() *request {
	if server := c.clientDir.Other(); c.oneDirection() || c.halves[server].gapped || c.stream.Held[server] {
		return nil
	}
	for _, r := range c.pending.items {
		if !r.passed {
			if !r.whole {
				return nil
			}
			return r
		}
	}
	return nil
}

// waited is the time of an exchange without an answer so far. InFlight is how many requests wait now.
func (c *conn) waited(r *request, now int64) Timing {
	t := Timing{Latency: now - r.end, Allowed: r.maxWait, InFlight: int32(len(c.pending.items) - c.pending.passed)}
	t.Queued = max(0, min(c.lastDone, now)-r.end)
	t.Service = t.Latency - t.Queued
	t.Excess = max(0, t.Service-r.maxWait)
	return t
}

func (c *conn) tellOpen(r *request, now int64) {
	d := c.dissector
	if d.needs&NeedExchanges == 0 {
		return
	}
	m := d.request.restore(&r.snapshot, d.tools)
	head := *m.Head // that of the snapshot is for the end of the exchange
	head.Timing = c.waited(r, now)
	m.Head = &head
	d.exchange = Exchange{Request: m, Open: true}
	d.out.Exchange(&d.exchange)
}
