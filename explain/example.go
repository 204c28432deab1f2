package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kdissect/kdissect/schema"
)

// Example is an example of the part with telling values: a document that package encode reads.
func (part *Part) Example() []byte {
	var b bytes.Buffer
	m := part.Message
	switch m.Kind {
	case schema.Request:
		fmt.Fprintf(&b, `{"type":"REQUEST","apiName":%q,"apiVersion":%d,"correlationId":912,"clientId":"app-1","payload":`, m.APIName(), part.Plan.Version)
	case schema.Response:
		fmt.Fprintf(&b, `{"type":"RESPONSE","apiName":%q,"apiVersion":%d,"correlationId":912,"payload":`, m.APIName(), part.Plan.Version)
	default:
		fmt.Fprintf(&b, `{"name":%q,"version":%d,"value":`, m.Name, part.Plan.Version)
	}
	x := exampler{&b, part.Plan.Ops}
	x.value(0)
	b.WriteByte('}')
	return b.Bytes()
}

// An exampler writes example values along a plan.
type exampler struct {
	*bytes.Buffer
	ops []schema.Op
}

func (x *exampler) value(at int32) {
	op := &x.ops[at]
	switch op.Code {
	case schema.OpStruct:
		x.WriteByte('{')
		x.fields(at, true)
		x.WriteByte('}')
	case schema.OpArray:
		x.WriteByte('[')
		x.value(at + 1)
		x.WriteByte(']')
	case schema.OpRecords:
		x.WriteString(exampleRecords)
	default:
		text, _ := json.Marshal(sampleOf(op)) // plain values cannot fail
		x.Write(text)
	}
}

// fields writes the fields of a structure, tagged ones as those that are not.
func (x *exampler) fields(at int32, first bool) bool {
	for i := at + 1; i < x.ops[at].Next; i = x.ops[i].Next {
		op := &x.ops[i]
		if op.Code == schema.OpTags {
			first = x.fields(i, first)
			continue
		}
		if !first {
			x.WriteByte(',')
		}
		first = false
		fmt.Fprintf(x, "%q:", op.JSON)
		x.value(i)
	}
	return first
}

const exampleRecords = `[{"baseOffset":0,"partitionLeaderEpoch":7,"magic":2,"compression":"none","baseTimestamp":1767225600000,"maxTimestamp":1767225600000,` +
	`"records":[{"offset":0,"timestamp":1767225600000,"key":"order-1","value":"paid","headers":[]}]}]`

// sampleOf is a value that a field might have.
func sampleOf(op *schema.Op) any {
	name := op.Field.Name
	switch op.Code {
	case schema.OpBool:
		return true
	case schema.OpUUID:
		return "kJ3mZ0bPQ2S8v1yXn4o5Lw"
	case schema.OpFloat64:
		return 0.5
	case schema.OpBytes:
		return []byte("some bytes")
	case schema.OpString:
		return sampleText(op, name)
	}
	n := sampleNumber(op, name)
	if limit := int64(1)<<(8*op.Fixed-1) - 1; op.Fixed < 8 && n > limit {
		n = limit
	}
	return n
}

// A sample is the value of fields whose name ends in some way.
type sample[T any] struct {
	end   string
	value T
}

func sampleText(op *schema.Op, name string) any {
	switch op.Role {
	case schema.TopicName:
		return "orders"
	case schema.GroupID, schema.LookupKey:
		return "billing"
	case schema.TransactionalID:
		return "billing-tx-1"
	case schema.ConfigName:
		return "retention.ms"
	case schema.ConfigValue:
		return "604800000"
	case schema.ErrorMessage:
		if op.Nullable {
			return nil
		}
	}
	return bySuffix(texts, name, "example")
}

var texts = []sample[string]{
	{"MemberId", "app-1-8d0a2f6c"}, {"InstanceId", "app-1"}, {"ClientId", "app-1"}, {"ClusterId", "5L6g3nShT-eMCtK--X86sw"},
	{"Host", "broker-1.example.com"}, {"Rack", "rack-a"}, {"RackId", "rack-a"}, {"LogDir", "/var/kafka-logs"}, {"Path", "/var/kafka-logs"},
	{"SoftwareName", "apache-kafka-java"}, {"SoftwareVersion", "4.4.0"}, {"Mechanism", "SCRAM-SHA-256"}, {"Mechanisms", "SCRAM-SHA-256"},
	{"ProtocolType", "consumer"}, {"ProtocolName", "range"}, {"Protocol", "range"}, {"Assignor", "uniform"}, {"AssignorName", "uniform"},
	{"PrincipalType", "User"}, {"PrincipalName", "alice"}, {"Principal", "User:alice"}, {"User", "alice"},
	{"Listener", "PLAINTEXT"}, {"ListenerName", "PLAINTEXT"}, {"Regex", "orders-.*"}, {"Feature", "metadata.version"}, {"State", "Stable"},
	{"ResourceName", "orders"}, {"Reason", "the application is closing"}, {"MirrorName", "site-b"}, {"RemovedTopics", "returns"},
}

func sampleNumber(op *schema.Op, name string) int64 {
	switch op.Role {
	case schema.ErrorCode, schema.ThrottleTime:
		return 0
	case schema.Partition:
		return 3
	case schema.Acks:
		return -1
	case schema.ProducerID:
		return 4000
	}
	return bySuffix(numbers, name, 1)
}

var numbers = []sample[int64]{
	{"Timestamp", 1767225600000}, {"TimestampMs", 1767225600000}, {"ExpiryTimeMs", 1767225600000}, {"MaxWaitMs", 500}, {"TimeoutMs", 30000},
	{"TimeMs", 30000}, {"IntervalMs", 5000}, {"Ms", 30000}, {"LeaderEpoch", 7}, {"Epoch", 7}, {"OffsetLag", 42}, {"Offset", 150382},
	{"Port", 9092}, {"Bytes", 1048576}, {"Size", 1048576}, {"Factor", 3}, {"NumPartitions", 6}, {"GenerationId", 12}, {"Sequence", 20},
	{"ReplicaNodes", 2}, {"ResourceType", 2}, {"PatternType", 3}, {"Count", 6},
}

// bySuffix is the value of the first sample that fits a name.
func bySuffix[T any](samples []sample[T], name string, otherwise T) T {
	for _, s := range samples {
		if strings.HasSuffix(name, s.end) {
			return s.value
		}
	}
	return otherwise
}
