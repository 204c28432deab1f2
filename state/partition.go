package state

import (
	"slices"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// A Partition is what is known of a partition. Offsets are -1 where they are not known.
type Partition struct {
	Topic
	Partition     int32
	Leader        int32 // broker, -1 where it is not known or there is none
	LeaderEpoch   int32 // -1 where it is not known
	LogStart      int64
	LastStable    int64
	HighWatermark int64
	Produced      int64 // the last record that a producer was told to have been stored
	Fetched       int64 // the last record that a consumer was sent
	Readers       []Reader
	Seen          At // the message that told of it last
}

// A Reader is a consumer that fetches from a partition.
type Reader struct {
	Client   string // client id
	Host     string // address, without the port
	Position int64  // the next record that it wants: what it has asked for, or what is behind the records it was sent since
	Seen     At
}

// maxReaders is how many readers of a partition are kept; those that asked longest ago make room.
const maxReaders = 8

const (
	partitionSize = 350
	readerSize    = 80
)

// partition returns a partition.
func (c *Cluster) partition(t Topic, partition int32, m *dissect.Message) *Partition {
	key := placeOf(t, partition)
	p := c.partitions.use(key, func() *Partition {
		return &Partition{Topic: t, Partition: partition, Leader: -1, LeaderEpoch: -1, LogStart: -1, LastStable: -1, HighWatermark: -1, Produced: -1, Fetched: -1}
	})
	if t.ID != (TopicID{}) && t.ID != p.ID {
		p.ID = t.ID
	}
	p.Seen = at(m)
	size := partitionSize + 2*len(t.Name)
	for i := range p.Readers {
		size += readerSize + len(p.Readers[i].Client) + len(p.Readers[i].Host)
	}
	c.partitions.weigh(key, size)
	return p
}

// Partitions returns the partitions by topic and number.
func (c *Cluster) Partitions() []*Partition {
	return slices.SortedFunc(c.partitions.all, func(a, b *Partition) int {
		return comparePlaces(a.Topic, a.Partition, b.Topic, b.Partition)
	})
}

// Lag returns how far a committed offset is behind the high watermark as last seen, and whether that is known. A commit may be seen later than
// the high watermark was.
func (c *Cluster) Lag(o *GroupOffset) (lag int64, known bool) {
	p := c.partitions.find(placeOf(o.Topic, o.Partition))
	if p == nil || p.HighWatermark < 0 {
		return 0, false
	}
	return max(0, p.HighWatermark-o.Offset), true
}

// Lag returns how far a reader is behind the high watermark as last seen, and whether that is known.
func (p *Partition) Lag(r *Reader) (lag int64, known bool) {
	if p.HighWatermark < 0 {
		return 0, false
	}
	return max(0, p.HighWatermark-r.Position), true
}

// set takes in a value that an answer has.
func set(to *int64, value int64) {
	if value >= 0 {
		*to = value
	}
}

// lead takes in the leader of a partition. A leader of an earlier epoch than the one known is old news.
func (p *Partition) lead(o object) {
	if !o.has("LeaderId") {
		return
	}
	epoch := int32(o.int("LeaderEpoch", -1))
	if epoch >= 0 && epoch < p.LeaderEpoch {
		return
	}
	p.Leader = int32(o.int("LeaderId", -1))
	if epoch >= 0 {
		p.LeaderEpoch = epoch
	}
}

// leadElsewhere takes in the leader that a client is referred to with an error (KIP-951). Without one the field says nothing.
func (p *Partition) leadElsewhere(o object) {
	if leader := o.object("CurrentLeader"); leader.int("LeaderId", -1) >= 0 && leader.int("LeaderEpoch", -1) >= 0 {
		p.lead(leader)
	}
}

// produce takes in where records were stored.
func (c *Cluster) produce(e *exchange) {
	counts := map[place]int64{}
	epoch := int64(-1)
	for t := range e.asked.list("TopicData") {
		topic := t.topic("Name")
		for o := range t.list("PartitionData") {
			if o.has("Index") {
				sum := o.records()
				counts[placeOf(topic, int32(o.int("Index", -1)))] += sum.count
				epoch = max(epoch, sum.epoch)
			}
		}
	}
	transactional := e.asked.bytes("TransactionalId")
	var code int16
	var stored []placed
	for t := range e.answer.list("Responses") {
		topic := t.topic("Name")
		for o := range t.list("PartitionResponses") {
			if !o.has("ErrorCode") || topic == (Topic{}) {
				continue
			}
			index := int32(o.int("Index", -1))
			p := c.partition(topic, index, e.response)
			if refused := o.code("ErrorCode"); refused != 0 {
				p.leadElsewhere(o)
				code = refused
				continue
			}
			stored = append(stored, placed{topic, index})
			if base, n := o.int("BaseOffset", -1), counts[placeOf(topic, index)]; base >= 0 && n > 0 {
				p.Produced = base + n - 1
			}
			set(&p.LogStart, o.int("LogStartOffset", -1))
		}
	}
	c.endpoints(e)
	if len(transactional) > 0 {
		c.produced(e, transactional, epoch, stored, code)
	}
}

// placed is a partition of a topic.
type placed struct {
	topic     Topic
	partition int32
}

// batches says what the batches of a records field are about.
type batches struct {
	count int64 // records
	last  int64 // offset of the last one, -1 where there is none
	next  int64 // the offset behind them, markers of the broker included; -1 where there are none
	epoch int64 // of the producer, -1 where there is none
}

// records sums up the batches of a structure's records field.
func (o object) records() batches {
	sum := batches{last: -1, next: -1, epoch: -1}
	at := o.field("Records")
	if at < 0 || o.view.Nodes[at].Op.Code != schema.OpRecords {
		return sum
	}
	for b := range o.view.Batches(&o.view.Nodes[at]) {
		if b.Partial || !b.KnownMagic() {
			break
		}
		if b.Magic > 1 {
			sum.epoch = int64(b.ProducerEpoch)
		}
		sum.count += int64(max(0, b.Count))
		sum.next = b.LastOffset() + 1
		if !b.Control() {
			sum.last = b.LastOffset()
		}
	}
	return sum
}

// fetch takes in what a fetch was about: where consumers are, and how far partitions have come.
func (c *Cluster) fetch(e *exchange) {
	follower := e.asked.int("ReplicaId", -1) >= 0 || e.asked.object("ReplicaState").int("ReplicaId", -1) >= 0
	if !follower {
		c.positions(e)
	}
	reader := readerOf(e)
	for t := range e.answer.list("Responses") {
		topic := t.topic("Topic")
		for o := range t.list("Partitions") {
			c.fetchedFrom(e, topic, o, reader, follower)
		}
	}
	c.endpoints(e)
}

// shareFetch takes in what consumers of a share group were sent.
func (c *Cluster) shareFetch(e *exchange) { c.fetch(e) }

// positions takes in where a consumer reads.
func (c *Cluster) positions(e *exchange) {
	reader := readerOf(e)
	for t := range e.asked.list("Topics") {
		topic := t.topic("Topic")
		for o := range t.list("Partitions") {
			if offset := o.int("FetchOffset", -1); offset >= 0 && topic != (Topic{}) {
				p := c.partition(topic, int32(o.int("Partition", -1)), e.request)
				reader.Position = offset
				p.read(reader)
			}
		}
	}
}

// readerOf returns the consumer that has sent a request.
func readerOf(e *exchange) Reader {
	return Reader{Client: kept(e.request.Header.ClientID), Host: e.request.Connection.Client.Addr().String(), Seen: at(e.request)}
}

// advance takes in that a reader was sent records up to an offset, -1 for none.
func (p *Partition) advance(r Reader, next int64) {
	for i := range p.Readers {
		if old := &p.Readers[i]; old.Client == r.Client && old.Host == r.Host {
			old.Position = max(old.Position, next)
		}
	}
}

// read takes in where a consumer reads.
func (p *Partition) read(r Reader) {
	oldest := 0
	for i := range p.Readers {
		old := &p.Readers[i]
		if old.Client == r.Client && old.Host == r.Host {
			*old = r
			return
		}
		if old.Seen.Number < p.Readers[oldest].Seen.Number {
			oldest = i
		}
	}
	if len(p.Readers) == maxReaders {
		p.Readers[oldest] = r
		return
	}
	p.Readers = append(p.Readers, r)
}

func (c *Cluster) fetchedFrom(e *exchange, topic Topic, o object, reader Reader, follower bool) {
	if topic == (Topic{}) || !o.has("ErrorCode") {
		return
	}
	p := c.partition(topic, int32(o.int("PartitionIndex", -1)), e.response)
	if o.code("ErrorCode") != 0 {
		p.leadElsewhere(o)
		return
	}
	set(&p.HighWatermark, o.int("HighWatermark", -1))
	set(&p.LastStable, o.int("LastStableOffset", -1))
	set(&p.LogStart, o.int("LogStartOffset", -1))
	if !follower {
		sum := o.records()
		set(&p.Fetched, sum.last)
		p.advance(reader, sum.next)
	}
}

// Times that offsets are asked for by.
const (
	latest   = -1
	earliest = -2
)

// listOffsets takes in ends of partitions: the latest offset is the high watermark, or the last stable one for those that read what is committed.
func (c *Cluster) listOffsets(e *exchange) {
	times := map[place]int64{}
	for t := range e.asked.list("Topics") {
		topic := t.topic("Name")
		for o := range t.list("Partitions") {
			times[placeOf(topic, int32(o.int("PartitionIndex", -1)))] = o.int("Timestamp", 0)
		}
	}
	for t := range e.answer.list("Topics") {
		topic := t.topic("Name")
		for o := range t.list("Partitions") {
			index, offset := int32(o.int("PartitionIndex", -1)), o.int("Offset", -1)
			if o.code("ErrorCode") != 0 || offset < 0 {
				continue
			}
			p := c.partition(topic, index, e.response)
			switch times[placeOf(topic, index)] {
			case earliest:
				p.LogStart = offset
			case latest:
				if e.asked.int("IsolationLevel", 0) != 0 {
					p.LastStable = offset
				} else if e.asked.int("ReplicaId", -1) < 0 {
					p.HighWatermark = offset
				}
			}
		}
	}
}
