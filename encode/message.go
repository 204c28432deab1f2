package encode

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/kdissect/kdissect/schema"
)

// A Message is a request, a response or another structure of the catalog that is to be encoded.
type Message struct {
	Plan *schema.Plan

	// Of the header; a message without one does not use them. A response has no client id.
	CorrelationID int32
	ClientID      string
	ClientIDNull  bool

	Body        any // as package json decodes it, its numbers as json.Number
	UnknownTags []UnknownTag
}

// An UnknownTag is a tagged field that the schema does not know.
type UnknownTag struct {
	Path  string // of the structure it stands in, such as "topics[0]"; "" is the body's top, "header" the header
	Tag   uint32
	Value []byte
}

// Options say how a message is encoded.
type Options struct {
	Defaults bool // fields that are missing get the schema's defaults
	BodyOnly bool // without frame and header, or without the version in front of a structure
}

// An Error says what is wrong with a document, and where.
type Error struct {
	Path string // such as payload.topics[0].name; "" when it is the document itself
	Text string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Text
	}
	return e.Path + ": " + e.Text
}

// Encode returns the bytes of the message. An error of the document is an [Error].
func (m *Message) Encode(o Options) ([]byte, error) {
	e := encoder{fill: o.Defaults}
	if err := e.takeTags(m.UnknownTags); err != nil {
		return nil, err
	}
	if !o.BodyOnly {
		if err := e.front(m); err != nil {
			return nil, err
		}
	}
	root := "value"
	if m.Plan.Header != nil {
		root = "payload"
	}
	if err := e.message(m.Plan, root, m.Body); err != nil {
		return nil, err
	}
	if err := e.unusedTags(o.BodyOnly); err != nil {
		return nil, err
	}
	if m.Plan.Header != nil && !o.BodyOnly {
		size := len(e.out) - 4
		if size > math.MaxInt32 {
			return nil, &Error{"", "the message is larger than a frame can be"}
		}
		binary.BigEndian.PutUint32(e.out, uint32(size))
	}
	return e.out, nil
}

// front writes what stands in front of the body. The size of a frame is filled in later.
func (e *encoder) front(m *Message) error {
	if m.Plan.Header == nil {
		e.out = appendLead(e.out, m.Plan)
		return nil
	}
	e.out = append(e.out, 0, 0, 0, 0)
	header := map[string]any{"correlationId": number(int64(m.CorrelationID))}
	if m.Plan.Message.Kind == schema.Request {
		header["requestApiKey"] = number(int64(m.Plan.Message.APIKey))
		header["requestApiVersion"] = number(int64(m.Plan.Version))
		if m.Plan.Header.Version > 0 {
			header["clientId"] = any(m.ClientID)
			if m.ClientIDNull {
				header["clientId"] = nil
			}
		}
	}
	return e.message(m.Plan.Header, "header", header)
}

func number(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// appendLead appends what stands in front of a structure that is neither request nor response: keys in internal topics have their record type there, values and
// most structures inside bytes fields their version, both an int16; metadata records have the version of this front part, which is 1, type and version as
// unsigned varints.
func appendLead(b []byte, plan *schema.Plan) []byte {
	switch plan.Message.Kind {
	case schema.Header:
		return b
	case schema.CoordinatorKey:
		return binary.BigEndian.AppendUint16(b, uint16(plan.Message.APIKey))
	case schema.MetadataRecord:
		b = binary.AppendUvarint(b, 1)
		b = binary.AppendUvarint(b, uint64(plan.Message.APIKey))
		return binary.AppendUvarint(b, uint64(plan.Version))
	case schema.Data:
		if plan.Message.BeginsWithVersion() {
			return b
		}
	}
	return binary.BigEndian.AppendUint16(b, uint16(plan.Version))
}

// takeTags sorts the unknown tagged fields by the structure that they belong to.
func (e *encoder) takeTags(tags []UnknownTag) error {
	if len(tags) == 0 {
		return nil
	}
	e.tags = make(map[string][]UnknownTag, len(tags))
	for _, t := range tags {
		e.tags[t.Path] = append(e.tags[t.Path], t)
	}
	for path, list := range e.tags {
		slices.SortFunc(list, func(a, b UnknownTag) int { return cmp.Compare(a.Tag, b.Tag) })
		for i := 1; i < len(list); i++ {
			if list[i].Tag == list[i-1].Tag {
				return &Error{"unknownTags", "tag " + strconv.Itoa(int(list[i].Tag)) + " comes twice at path " + strconv.Quote(path)}
			}
		}
	}
	return nil
}

// unusedTags refuses unknown tagged fields whose structure is not there.
func (e *encoder) unusedTags(bodyOnly bool) error {
	if bodyOnly {
		delete(e.tags, "header")
	}
	if len(e.tags) == 0 {
		return nil
	}
	paths := make([]string, 0, len(e.tags))
	for path := range e.tags {
		paths = append(paths, path)
	}
	return &Error{"unknownTags", "no structure with tagged fields at path " + strconv.Quote(slices.Min(paths))}
}
