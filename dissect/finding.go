package dissect

import "fmt"

// A Code names a kind of finding. Codes are part of the output: they are added to, never renamed.
type Code string

const (
	TruncatedFile          Code = "truncated-file"
	DamagedBlock           Code = "damaged-block"
	UnsupportedLinkType    Code = "unsupported-link-type"
	DuplicatePackets       Code = "duplicate-packets"
	NATTwin                Code = "nat-twin"
	RetransmissionConflict Code = "retransmission-conflict"
	Gapped                 Code = "gap"
	MidStream              Code = "mid-stream"
	OneDirection           Code = "one-direction"
	NotKafka               Code = "not-kafka"
	TLS                    Code = "tls"
	HTTP                   Code = "http"
	Resynchronised         Code = "resynchronised"
	MemoryLimit            Code = "memory-limit"
	SnaplenCut             Code = "snaplen"
	UnknownAPI             Code = "unknown-api"
	UnknownVersion         Code = "unknown-version"
	VersionNotOffered      Code = "version-not-offered"
	Undecoded              Code = "undecoded"
	TrailingBytes          Code = "trailing-bytes"
	MissingBytes           Code = "missing-bytes"
	InvalidLength          Code = "invalid-length"
	NullNotAllowed         Code = "null-not-allowed"
	BadUTF8                Code = "bad-utf8"
	UnknownTag             Code = "unknown-tag"
	TagOrder               Code = "tag-order"
	TagSize                Code = "tag-size"
	CRCMismatch            Code = "crc-mismatch"
	PartialBatch           Code = "partial-batch"
	Decompression          Code = "decompression"
	BadRecord              Code = "bad-record"
	Unanswered             Code = "unanswered"
	ClosedWithoutAnswer    Code = "closed-without-answer"
	Waiting                Code = "waiting"
	OrphanResponse         Code = "orphan-response"
	InferredVersion        Code = "inferred-version"
	OutOfOrderResponse     Code = "out-of-order-response"
	ReusedCorrelationID    Code = "reused-correlation-id"
	ErrorCode              Code = "error-code"
	Throttled              Code = "throttled"
	VersionFallback        Code = "version-fallback"
	SASLFailed             Code = "sasl-failed"
	Refused                Code = "refused"
	NoAnswer               Code = "no-answer"
	FetchSession           Code = "fetch-session"
	TopicRecreated         Code = "topic-recreated"
)

// A Severity says how bad a finding is.
type Severity uint8

const (
	Info Severity = iota
	Warn
	Error
)

func (s Severity) String() string { return [...]string{"info", "warn", "error"}[s] }

// A Finding is something worth saying about a message, a connection or the capture.
type Finding struct {
	Code     Code
	Severity Severity
	Offset   int // in the frame, from its size prefix on; -1 where it has no place of its own
	Text     string
}

// maxFindings bounds the findings of one message: hostile bytes can give rise to one every few bytes.
const maxFindings = 100

// addFinding appends a finding to those of a message, the last one with the word that there are more.
func addFinding(list []Finding, f Finding) []Finding {
	switch {
	case len(list) < maxFindings:
		return append(list, f)
	case len(list) == maxFindings:
		f.Text = "more findings of this message are left out"
		return append(list, f)
	}
	return list
}

func finding(code Code, severity Severity, offset int, format string, args ...any) Finding {
	return Finding{code, severity, offset, fmt.Sprintf(format, args...)}
}
