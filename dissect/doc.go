// Package dissect finds Kafka in the byte streams of TCP connections and decodes it.
//
// A [Dissector] is a reassembly.Handler. What it finds goes to an [Output]: each request and response as a [Message], both together as
// an [Exchange] once the answer is there, and what belongs to no message as a [Report]. An output says beforehand what it looks at ([Needs]); what nobody
// needs is neither kept nor decoded.
//
// # The way of a frame
//
//	window.go, sync.go              where frames begin, on any port
//	first.go, judge.go              what is believed to be a frame, at the start of a connection and in its middle
//	foreign.go, refused.go          what is there instead of Kafka, and connections that nobody accepted
//	frame.go, skim.go               the stream cut into frames; record data that no output shows is dropped as it comes
//	header.go, exchange.go, wait.go requests registered at their header, responses paired with them
//	decode.go, node.go, value.go    the bytes of a frame walked along a plan of package schema, onto a tape of nodes
//	plain.go                        messages that can be read along their plan without a tape
//	quick.go, facts.go              what a message is about: topics, groups, errors, records
//	form.go                         messages that are like one before, whose facts are told from what differs
//	orphan.go, fitting.go           what a response may be whose request is not in the capture
//	batch.go, record.go, codec.go   record batches, decompression, records
//	nested.go, internal.go                 structures inside bytes fields and inside records
//	telemetry.go, protobuf.go              metrics of OpenTelemetry that clients push
//	session.go                      what fetch and share sessions hold
//	waiting.go            what hangs
//	negotiation.go, ending.go       what the broker offers, why it may have closed, what a connection was
//	topics.go                       names of topics by their ids, also from further on in the capture
//	given.go                        messages of bytes that come without a capture
//	memory.go                       what all of it takes, by connection
//	auth.go, secret.go              who authenticates, and what no output may show
//
// # Decoding
//
// A [Message] is decoded when its [Message.Tape] is first asked for. The tape is a slice of nodes in preorder; its leaves tile the frame, and values are
// read from the bytes when an output wants them. What does not decode is a leaf of its own with a [Finding] that says where and
// why. [Message.Facts] does not need the tape of an ordinary message.
//
// Everything that is handed over is valid during the call only: the next message uses the same memory. A [Snapshot] lasts longer, and a
// [Reader] makes a message of it again, in another goroutine if need be.
//
// # What is remembered
//
// Of a connection: the requests that wait for answers, the versions that the broker offered, the authentication that is going on. Of the capture: the names of
// topics by their ids, fetch and share sessions, and which endpoints are brokers. All of it is bounded.
package dissect
