// Package filter picks exchanges out of those that a dissector hands over.
//
// [Criteria] say what is wanted: those of one name are alternatives, those of different names must all hold. They are looked at in two stages. [Heads]
// stands in front of everything else and looks at what is known without decoding: API, ends, times, numbers. [Exchanges] stands in front
// of a format, beside others of its kind when several workers decode, and looks at the rest: topics, groups, errors, records, and an
// expression over all of it ([Where]).
//
// A filter selects whole exchanges: the request of an answer that matches is handed on too, both when the exchange is complete. So messages come
// in the order in which exchanges ended, and one that is unanswered at the end of its connection.
package filter
