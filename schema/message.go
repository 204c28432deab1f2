package schema

import "strings"

// A Kind says what a message is and so where it occurs.
type Kind uint8

// The kinds of Kafka's schema files, named as their "type" names them.
const (
	Request Kind = iota
	Response
	Header           // RequestHeader, ResponseHeader
	Data             // a structure inside a bytes field or a control record
	MetadataRecord   // value of a record of __cluster_metadata or __remote_log_metadata
	CoordinatorKey   // key of a record of __consumer_offsets, __transaction_state or __share_group_state
	CoordinatorValue // value of such a record
)

var kindNames = [...]string{"request", "response", "header", "data", "metadata", "coordinator-key", "coordinator-value"}

func (k Kind) String() string { return kindNames[k] }

// A Message is one schema: a message of the protocol or a structure that travels inside one,
// in all its versions.
type Message struct {
	Name           string // as in Kafka's sources: FetchRequest, VotersRecord
	Kind           Kind
	APIKey         int16 // API key, record type or metadata record type; -1 when it has none
	Draft          bool  // the API key is still to be assigned ("TBD")
	ValidVersions  Versions
	Flexible       Versions // versions that have compact lengths and tagged fields
	Deprecated     Versions
	LatestUnstable bool     // the newest version is not released yet
	Listeners      []string // where a request is served: broker, controller ...
	HeaderVersions []HeaderRule
	Fields         []*Field
	CommonStructs  []*Struct
	Releases       []Release // oldest first; nil where nothing is known of them

	hasConfigs bool
}

// A Release says which versions of a message a Kafka release has.
type Release struct {
	Kafka    string // 4.4.0
	Versions Versions
	Unstable bool // the newest of them is not released yet
}

// A HeaderRule says which header version goes with some versions of a message.
type HeaderRule struct {
	Versions Versions
	Header   int16
}

// APIName is the name of the API that a request or response belongs to: Fetch for FetchRequest.
func (m *Message) APIName() string { return apiName(m.Kind, m.Name) }

func apiName(kind Kind, message string) string {
	switch kind {
	case Request:
		return strings.TrimSuffix(message, "Request")
	case Response:
		return strings.TrimSuffix(message, "Response")
	}
	return message
}

// BeginsWithVersion tells whether the first field is the version itself, so that none stands in front of the structure.
func (m *Message) BeginsWithVersion() bool {
	return len(m.Fields) > 0 && strings.EqualFold(m.Fields[0].Name, "Version")
}

// HasConfigs tells whether the message carries names and values of configs.
func (m *Message) HasConfigs() bool { return m.hasConfigs }

// A Struct is a structure that is used by name in several places of one message.
type Struct struct {
	Name     string
	Versions Versions
	Fields   []*Field
}

// A Type is the type of a field: a primitive, or a structure by name, or an array of one of them.
type Type struct {
	Array  bool
	Base   Base
	Struct string // name of the structure when Base is StructType
}

func (t Type) String() string {
	name := t.Struct
	if t.Base != StructType {
		name = t.Base.String()
	}
	if t.Array {
		return "[]" + name
	}
	return name
}

// A Base is a primitive type of the protocol, or StructType.
type Base uint8

const (
	Bool Base = iota
	Int8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Float64
	UUID
	String
	Bytes
	Records
	StructType
)

var baseNames = [...]string{"bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "uuid", "string", "bytes", "records", "struct"}

func (b Base) String() string { return baseNames[b] }

var baseWidths = [...]int{Bool: 1, Int8: 1, Int16: 2, Uint16: 2, Int32: 4, Uint32: 4, Int64: 8, Float64: 8, UUID: 16, StructType: 0}

// Width is the encoded size in bytes, 0 when it varies.
func (b Base) Width() int { return baseWidths[b] }

// A Field is a field of a message or structure, in all its versions.
type Field struct {
	Name       string // as in the schema: ThrottleTimeMs
	Type       Type
	Versions   Versions  // versions that have the field
	Nullable   Versions  // versions in which it may be null
	Tagged     Versions  // versions in which it is a tagged field
	Tag        int       // its tag there, -1 when it never is one
	Flexible   *Versions // overrides the message's flexible versions; nil when it does not
	Default    string    // as text, "" for the type's own default
	HasDefault bool
	MapKey     bool   // the elements of the array are found by this field
	EntityType string // what it names: topicName, brokerId, producerId ...
	Ignorable  bool
	Fields     []*Field // of a structure that is defined in place

	about string // explanation from the schema itself, if it brought one
	nth   int    // of the fields of that name, in the order of the file, from 1
	owner string // name of the structure that the field belongs to
}

// JSONName is the name that Kafka's own JSON has for the field: the first letter in lower case.
func (f *Field) JSONName() string {
	if f.Name == "" {
		return ""
	}
	return strings.ToLower(f.Name[:1]) + f.Name[1:]
}
