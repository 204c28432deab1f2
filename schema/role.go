package schema

import "strings"

// A Role says what a field means across all messages, so that a reader of values need not
// compare names. Most fields have none.
type Role uint8

const (
	NoRole Role = iota
	TopicName
	TopicID
	Partition
	ErrorCode
	ErrorMessage
	GroupID
	MemberID
	TransactionalID
	Acks
	RecordData // record batches of a topic partition
	Offset     // the offset that the message is about: fetched from, committed, answered
	SessionID
	SessionEpoch
	ThrottleTime
	MaxWait
	RebalanceTimeout
	SessionTimeout
	LookupKey // what FindCoordinator is asked for: a group or a transactional id
	SoftwareName
	SoftwareVersion
	ProducerID
	ResourceName
	ConfigName
	ConfigValue
	ConfigSensitive
	ReplicaID // the node that asks as a follower, -1 of a client
	MaxRole   // how many there are
)

// roleOf derives the role of a field from its entity type and name.
func roleOf(m *Message, f *Field) Role {
	switch f.EntityType {
	case "topicName":
		return TopicName
	case "groupId":
		return GroupID
	case "transactionalId":
		return TransactionalID
	}
	if f.owner == "TopicIdPartitionEntry" { // of the remote log metadata
		if role := remoteRoles[f.Name]; fits(role, f.Type) {
			return role
		}
		return NoRole
	}
	if isConfig(m, f) {
		if f.Name == "Name" {
			return ConfigName
		}
		return ConfigValue
	}
	if m.Name == "FindCoordinatorRequest" && (f.Name == "Key" || f.Name == "CoordinatorKeys") {
		return LookupKey
	}
	if role, known := rolesByName[f.Name]; known && fits(role, f.Type) {
		return role
	}
	if f.Type.Base == Records {
		return RecordData
	}
	if f.Name == "TransactionalId" && f.Type.Base == String {
		return TransactionalID
	}
	return NoRole
}

// isConfig tells whether a field is the name or value of a config.
func isConfig(m *Message, f *Field) bool {
	return (f.Name == "Name" || f.Name == "Value") && f.Type.Base == String &&
		(strings.Contains(m.Name, "Config") || strings.Contains(f.owner, "Config"))
}

var remoteRoles = map[string]Role{"Name": TopicName, "Id": TopicID, "Partition": Partition}

var rolesByName = map[string]Role{
	"IsSensitive": ConfigSensitive,
	"Topic":       TopicName, "TopicName": TopicName,
	"TopicId": TopicID, "TopicIds": TopicID, "topicId": TopicID,
	"Partition": Partition, "PartitionIndex": Partition, "PartitionId": Partition,
	"Partitions": Partition, "PartitionIndexes": Partition, "Index": Partition,
	"ErrorCode": ErrorCode, "PartitionErrorCode": ErrorCode, "ResultCode": ErrorCode,
	"ErrorMessage": ErrorMessage,
	"GroupId":      GroupID, "GroupIds": GroupID, "GroupsNames": GroupID, "ConsumerGroupId": GroupID,
	"MemberId":    MemberID,
	"Acks":        Acks,
	"FetchOffset": Offset, "CommittedOffset": Offset, "BaseOffset": Offset, "Offset": Offset,
	"SessionId": SessionID, "SessionEpoch": SessionEpoch, "ShareSessionEpoch": SessionEpoch,
	"ThrottleTimeMs":     ThrottleTime,
	"RebalanceTimeoutMs": RebalanceTimeout, "SessionTimeoutMs": SessionTimeout,
	"MaxWaitMs": MaxWait, "MaxWaitTimeMs": MaxWait,
	"ResourceName": ResourceName, "ProducerId": ProducerID, "ReplicaId": ReplicaID,
	"ClientSoftwareName": SoftwareName, "ClientSoftwareVersion": SoftwareVersion,
}

// fits keeps a role from a field of the same name and another type, such as partitions that are structures.
func fits(role Role, t Type) bool {
	switch role {
	case TopicName, GroupID, MemberID, ErrorMessage, SoftwareName, SoftwareVersion, ResourceName:
		return t.Base == String
	case TopicID:
		return t.Base == UUID
	case Offset, ProducerID:
		return t.Base == Int64
	case ErrorCode, Acks:
		return t.Base == Int16
	case ConfigSensitive:
		return t.Base == Bool
	}
	return t.Base == Int32
}
