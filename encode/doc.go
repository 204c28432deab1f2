// Package encode turns JSON into the bytes that Kafka would write: requests and responses with their frame and header, keys and values of internal topics,
// and the structures inside bytes fields. It is the way back from what package render prints.
//
// [Parse] reads a document into a [Message], [Message.Encode] makes bytes of it, and [Smallest] is the smallest legal frame or structure of a plan.
//
// # The JSON
//
// A body has the form of Kafka's own JsonConverter classes: names in camel case, bytes in base64, uuids in URL-safe base64 without padding, numbers as numbers.
// Two things go beyond it: tagged fields that no schema knows are given beside the body ([Message.UnknownTags]), and records are given either whole, as the
// base64 of their bytes, or batch by batch, as render's JSON with full records has them. Batches get the length and the checksum that fit what is written; what a
// batch or record does not say takes the value that a plain producer would send.
//
// # What is refused
//
// As Kafka's classes do, Encode refuses a field that is missing unless it is a tagged one ([Options.Defaults] fills it in instead), null where the version has
// none, a number out of range, a string above 32767 bytes, and a field that the version lacks, unless it has its default value or the schema calls it ignorable:
// then it is left out. A tagged field with its default value is left out as well. Unlike them it also refuses a name that no version has. An
// [Error] says where in the document and what would have been right.
//
// The package looks at package schema alone. It needs memory in proportion to the document, and nests no deeper than the schemas do.
package encode
