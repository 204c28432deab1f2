// Package render writes what package dissect has found, in a file or a few for each format:
//
//	tree*.go, hex.go      annotated trees with the offset and size of every field, and the bytes on request
//	json*.go, layout.go   one JSON object a line, for programs; jsonplain.go writes bodies without a tape
//	summary.go            a line for each request and its response
//	records.go            a line for each record
//	table.go, column.go   chosen columns, tab- or comma-separated, a line for each request and its response; path.go finds fields of bodies
//	interval*.go          tables of what was busy, slow, failing or hanging in a stretch of time; tally.go, histogram.go
//	requestlog.go         the lines that a broker's own request log has
//	parallel.go           several instances of a format at once; queue.go, output.go bring what they write in order
//	pieces.go             large keys and values, escaped and written piece by piece
//	timer.go, ranking.go  times of lines by the mode that is asked for, and lines in another order
//
// A [Format] is a dissect.Output that says what it needs and buffers what it writes. Text from the wire is escaped before it
// reaches a terminal (escape.go), and credentials are withheld unless [Options] say otherwise.
package render
