// Package schema knows the shapes of the Kafka protocol: which messages there are, which
// fields each has in which version, how they are encoded, and what they mean. It never touches
// the bytes of a capture; package dissect does, led by the plans of this package.
//
// A [Message] is one schema in the JSON grammar that Kafka itself uses for its message
// definitions, read by [Parse]. A [Catalog] holds all messages of a Kafka release: [Embedded] is the one that is built
// in: every version from 0.8 to the newest release, read lazily, a message at a time. [Extend] adds what a user brings along.
//
// A [Plan] is a message at one version, compiled into a flat list of [Op]s in the order of the
// bytes: what an interpreter needs to walk a body without looking anything up.
//
// The texts beside the schemas (what a field means, what an API is for, the names of error codes) are
// this project's own; see [Op.About], [Error] and [Purpose].
package schema
