package state

import (
	"fmt"
	"testing"
)

// A producer of a test, with the calls of the versions before KIP-890.
type producer struct {
	*client
	txn string
}

func (p producer) init(epoch, code int16) {
	p.ask(22, 0, p.txn, int32(60_000))(int32(0), code, int64(7), epoch)
}

func (p producer) add(topic string, epoch, code int16, partitions ...any) {
	results := array{}
	for _, n := range partitions {
		results = append(results, all(n, code))
	}
	p.ask(24, 0, p.txn, int64(7), epoch, array{all(topic, array(partitions))})(int32(0), array{all(topic, results)})
}

func (p producer) addOffsets(group string) {
	p.ask(25, 0, p.txn, int64(7), int16(0), group)(int32(0), int16(0))
}

func (p producer) commitOffset(group string, offset int64) {
	p.ask(28, 0, p.txn, group, int64(7), int16(0), array{all("orders", array{all(int32(0), offset, "")})})(int32(0), array{all("orders", array{all(int32(0), int16(0))})})
}

func (p producer) finish(commit bool, epoch, code int16) {
	p.ask(26, 0, p.txn, int64(7), epoch, commit)(int32(0), code)
}

func TestTransaction(t *testing.T) {
	w := newWorld()
	p := producer{w.client("app"), "pay"}
	p.init(0, 0)
	expect(t, "state", w.transaction(t, "pay").State, TxnInitialised)
	p.add("out", 0, 0, int32(2), int32(0))
	x := w.transaction(t, "pay")
	expect(t, "state", x.State, TxnOngoing)
	expect(t, "partitions", fmt.Sprint(x.Partitions[0].Name, x.Partitions[0].Partitions), "out[0 2]")
	p.addOffsets("billing")
	p.commitOffset("billing", 42)
	expect(t, "offsets before the end", len(w.group(t, "billing").Offsets()), 0)
	w.now += 1000
	p.finish(true, 0, 0)
	x = w.transaction(t, "pay")
	expect(t, "state", x.State, TxnCommitted)
	expect(t, "duration", x.Duration(w.End()), 1007*1e6) // from the request that began it: 7 packets later, a millisecond each
	expect(t, "offset", w.group(t, "billing").Offsets()[0].Offset, 42)

	p.addOffsets("billing")
	p.commitOffset("billing", 50)
	p.finish(false, 0, 0)
	expect(t, "state", x.State, TxnAborted)
	expect(t, "offset after the abort", w.group(t, "billing").Offsets()[0].Offset, 42)

	p.add("out", 0, 0, int32(1))
	w.now += 5000
	p.beat("other", "m", 1, 0)
	expect(t, "state", x.State, TxnOngoing)
	expect(t, "open for", x.Duration(w.End()), 5003*1e6)
	expect(t, "counts", fmt.Sprint(x.Committed, x.Aborted, x.ProducerID, x.ProducerEpoch, x.TimeoutMs), "1 1 7 0 60000")
	expectAll(t, "events", kinds(&x.Timeline), "initialised ", "began ", "committed ", "began ", "aborted ", "began ")
}

// Another producer that takes over the transactional id aborts what goes on, and fences.
func TestFencedProducer(t *testing.T) {
	w := newWorld()
	old, young := producer{w.client("app-1"), "pay"}, producer{w.client("app-2"), "pay"}
	old.init(0, 0)
	old.add("out", 0, 0, int32(0))
	young.init(1, 51)
	young.init(1, 0)
	old.finish(true, 0, 90)
	x := w.transaction(t, "pay")
	expect(t, "state", x.State, TxnInitialised)
	expect(t, "counts", fmt.Sprint(x.Committed, x.Aborted, x.ProducerEpoch, x.Client), "0 1 1app-2")
	expectAll(t, "events", kinds(&x.Timeline), "initialised ", "began ", "refused ", "aborted ", "initialised ", "fenced ")
	expect(t, "fenced", x.Timeline.Events[5].Client, "app-1")
	expect(t, "why", x.Timeline.Events[5].Why, "EndTxn came with epoch 0; the transactional id is at epoch 1, of another producer")
	expect(t, "errors", fmt.Sprint(x.Errors[0].Code, x.Errors[0].API, x.Errors[1].Code, x.Errors[1].API), "51InitProducerId90EndTxn")

	// One that is fenced without a sign of the other.
	old.txn = "stock"
	old.init(3, 0)
	old.add("out", 3, 0, int32(0))
	old.add("out", 3, 90, int32(1))
	expect(t, "state", w.transaction(t, "stock").State, TxnFenced)
}

// The coordinator ends what times out: the markers that it writes say so.
func TestMarkers(t *testing.T) {
	w := newWorld()
	p, broker := producer{w.client("app"), "pay"}, w.client("broker-1")
	mark := func(commit bool) {
		broker.ask(27, 0, array{all(int64(7), int16(0), commit, array{all("out", array{int32(0)})}, int32(0))})(array{all(int64(7), array{all("out", array{all(int32(0), int16(0))})})})
	}
	p.init(0, 0)
	p.add("out", 0, 0, int32(0))
	answer := p.ask(26, 0, p.txn, int64(7), int16(0), true)
	mark(true) // before the producer is answered
	answer(int32(0), int16(0))
	p.add("out", 0, 0, int32(0))
	mark(false)
	x := w.transaction(t, "pay")
	expect(t, "state", x.State, TxnAborted)
	expect(t, "counts", fmt.Sprint(x.Committed, x.Aborted), "1 1")
	expectAll(t, "events", kinds(&x.Timeline), "initialised ", "began ", "committed ", "began ", "aborted ")

	// Markers that are answered when the next transaction has begun are of the one before.
	p.add("out", 0, 0, int32(0))
	p.finish(true, 0, 0)
	answer = broker.ask(27, 0, array{all(int64(7), int16(0), true, array{all("out", array{int32(0)})}, int32(0))})
	p.add("out", 0, 0, int32(0))
	answer(array{all(int64(7), array{all("out", array{all(int32(0), int16(0))})})})
	expect(t, "state of the next", x.State, TxnOngoing)
	expect(t, "committed", x.Committed, 2)
}

// Of a transaction that began before the capture the end is counted, and how long it took is not known.
func TestEndOnly(t *testing.T) {
	w := newWorld()
	p := producer{w.client("app"), "pay"}
	p.add("out", 0, 0, int32(0))
	p.finish(true, 0, 0)
	w.now += 1000
	p.finish(false, 0, 0)
	x := w.transaction(t, "pay")
	expect(t, "counts", fmt.Sprint(x.State, x.Committed, x.Aborted, len(x.Partitions)), "aborted1 1 0")
	expect(t, "duration", x.Duration(w.End()), 0)
}

func TestEndWithoutAnswer(t *testing.T) {
	w := newWorld()
	p := producer{w.client("app"), "pay"}
	p.init(0, 0)
	p.add("out", 0, 0, int32(0))
	p.ask(26, 0, p.txn, int64(7), int16(0), true)
	p.end()
	x := w.transaction(t, "pay")
	expect(t, "state", x.State, TxnOngoing)
	last := x.Timeline.Events[len(x.Timeline.Events)-1]
	expect(t, "event", last.Kind, NoAnswer)
	expect(t, "why", last.Why, "EndTxn (commit) was not answered")
}

// Partitions of a transaction are bounded, and so are transactions.
func TestTransactionBounds(t *testing.T) {
	w := newWorld()
	c := w.client("app")
	many := array{}
	for i := range maxTxnPartitions + 100 {
		many = append(many, int32(i))
	}
	producer{c, "pay"}.add("out", 0, 0, many...)
	expect(t, "partitions", len(w.transaction(t, "pay").Partitions[0].Partitions), maxTxnPartitions)
	for i := range maxTransactions + 5 {
		c.ask(22, 0, fmt.Sprint("t", i), int32(1))(int32(0), int16(0), int64(i), int16(0))
	}
	_, _, _, dropped := w.Dropped()
	expect(t, "dropped", dropped, 6)
	expect(t, "kept", len(w.Transactions()), maxTransactions)
	expect(t, "producer ids", len(w.producers), maxTransactions)
}
