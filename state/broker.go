package state

import (
	"cmp"
	"slices"
)

// A Broker is what is known of a broker.
type Broker struct {
	ID         int32
	Host       string
	Port       int64
	Rack       string
	Controller bool // it is the one that clients send what is for the controller to, as last seen
	Seen       At   // the answer that told of it last
}

// Brokers returns the brokers by id.
func (c *Cluster) Brokers() []*Broker {
	all := slices.SortedFunc(c.brokers.all, func(a, b *Broker) int { return cmp.Compare(a.ID, b.ID) })
	for _, b := range all {
		b.Controller = b.ID == c.controllerID
	}
	return all
}

const brokerSize = 150

// broker takes in where a broker is. idField is the field that has its id.
func (c *Cluster) broker(e *exchange, o object, idField string) {
	id := int32(o.int(idField, -1))
	host := o.text("Host")
	if id < 0 || host == "" {
		return
	}
	b := c.brokers.use(id, func() *Broker { return &Broker{ID: id} })
	b.Host, b.Port, b.Seen = host, o.int("Port", -1), at(e.response)
	if rack := o.text("Rack"); rack != "" {
		b.Rack = rack
	}
	c.brokers.weigh(id, brokerSize+len(b.Host)+len(b.Rack))
}

// controller takes in which broker is the controller. KRaft clusters name some broker, which passes on what is for the controller.
func (c *Cluster) controller(o object) {
	c.controllerID = int32(o.int("ControllerId", int64(c.controllerID)))
}

// metadata takes in brokers and leaders.
func (c *Cluster) metadata(e *exchange) {
	for o := range e.answer.list("Brokers") {
		c.broker(e, o, "NodeId")
	}
	c.controller(e.answer)
	for t := range e.answer.list("Topics") {
		topic := t.topic("Name")
		for o := range t.list("Partitions") {
			if topic == (Topic{}) || !o.has("PartitionIndex") {
				continue
			}
			p := c.partition(topic, int32(o.int("PartitionIndex", -1)), e.response)
			p.lead(o)
		}
	}
}

func (c *Cluster) describeCluster(e *exchange) {
	const brokers = 1 // 2 are controllers
	if e.answer.code("ErrorCode") != 0 || e.answer.int("EndpointType", brokers) != brokers {
		return
	}
	for o := range e.answer.list("Brokers") {
		c.broker(e, o, "BrokerId")
	}
	c.controller(e.answer)
}

// Kinds of keys that a coordinator is looked for by.
const (
	groupKey = 0
	txnKey   = 1
)

// findCoordinator takes in the coordinators of groups and transactions: of one, or since v4 of several.
func (c *Cluster) findCoordinator(e *exchange) {
	kind := e.asked.int("KeyType", groupKey)
	if e.asked.has("Key") {
		c.coordinator(e, kind, e.asked.bytes("Key"), e.answer)
		return
	}
	for o := range e.answer.list("Coordinators") {
		c.coordinator(e, kind, o.bytes("Key"), o)
	}
}

func (c *Cluster) coordinator(e *exchange, kind int64, key []byte, o object) {
	node := int32(o.int("NodeId", -1))
	if o.code("ErrorCode") != 0 || node < 0 {
		return
	}
	c.broker(e, o, "NodeId")
	switch kind {
	case groupKey:
		g := c.group(key, e.response)
		g.Coordinator = node
		c.settle(g)
	case txnKey:
		t := c.transaction(key, e.response)
		t.Coordinator = node
		c.settleTransaction(t)
	}
}

// endpoints takes in where brokers are that a client is referred to (KIP-951).
func (c *Cluster) endpoints(e *exchange) {
	for o := range e.answer.list("NodeEndpoints") {
		c.broker(e, o, "NodeId")
	}
}
