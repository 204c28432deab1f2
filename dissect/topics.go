package dissect

import (
	"bytes"
	"sync"
)

// maxTopicNames bounds what is remembered of a capture's topics: 64 Ki of them take about 10 MB.
const maxTopicNames = 64 << 10

type topicID [16]byte

// metadataTopicID is the fixed id of __cluster_metadata (KIP-516 reserves it).
var metadataTopicID = topicID{15: 1}

// topicNames knows the names of topics by their ids, as far as messages of the capture have told them. Ids are never used twice, so what is
// learned stays true. A message sees only what messages before it have told, whoever asks and when: output does not depend on timing.
type topicNames struct {
	mu   sync.RWMutex
	byID map[topicID]topicName
}

type topicName struct {
	name  []byte
	since int64 // number of the message that told it
}

func newTopicNames() *topicNames {
	return &topicNames{byID: map[topicID]topicName{metadataTopicID: {name: []byte(metadataTopic)}}}
}

// name returns the name that a message knows a topic by, nil when it knows none.
func (t *topicNames) name(id []byte, message int64) []byte {
	if len(id) != len(topicID{}) {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if known, ok := t.byID[topicID(id)]; ok && known.since <= message {
		return known.name
	}
	return nil
}

// NameOf returns the name of the topic with an id, as far as the capture has told it by then; nil when it is not known.
func (m *Message) NameOf(id []byte) []byte { return m.topics.name(id, m.Number) }

// learn takes the names out of a message that has both.
func (t *topicNames) learn(f *Facts, message int64) {
	for i := range f.Topics {
		topic := &f.Topics[i]
		if topic.Resolved || len(topic.Name) == 0 || len(topic.ID) != len(topicID{}) {
			continue
		}
		t.add(topicID(topic.ID), topic.Name, message)
	}
}

func (t *topicNames) add(id topicID, name []byte, message int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.byID[id]; !known && id != (topicID{}) && len(t.byID) < maxTopicNames {
		t.byID[id] = topicName{bytes.Clone(name), message}
	}
}

// resolve adds the names of topics that a message has by their ids alone.
func (t *topicNames) resolve(f *Facts, message int64) {
	for i := range f.Topics {
		if topic := &f.Topics[i]; topic.Name == nil {
			topic.Name = t.name(topic.ID, message)
			topic.Resolved = topic.Name != nil
		}
	}
}
