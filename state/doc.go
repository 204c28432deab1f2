// Package state keeps what a capture tells of a cluster: its brokers, the offsets of its partitions, who is in which group and why groups
// rebalance, and what became of transactions.
//
// A [Cluster] is a dissect.Output that follows exchanges. It knows what was said on the wire and nothing else: each value is the one that was
// seen last, and what happened before the capture or beside it is not known.
//
//	cluster.go              the output, which hands each exchange to those below
//	object.go               fields of a message by their names
//	shelf.go                what is kept, within bounds: the oldest makes room
//	broker.go, partition.go brokers, coordinators; offsets of partitions, their leaders and readers
//	group.go, event.go      groups, members, and the timeline of a group
//	classic.go              JoinGroup, SyncGroup, Heartbeat, LeaveGroup
//	heartbeat.go            groups of KIP-848 (consumer), KIP-932 (share) and KIP-1071 (streams)
//	described.go            what admin clients are told of groups
//	offset.go               committed offsets
//	transaction.go          transactions
//
// What could not be decoded to its end is left out, and no message that carries credentials is looked at.
package state
