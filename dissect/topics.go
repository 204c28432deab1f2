package dissect

import "bytes"

// maxTopicNames bounds what is remembered of a capture's topics: 64 Ki of them take about 10 MB.
const maxTopicNames = 64 << 10

type topicID [16]byte

// metadataTopicID is the fixed id of __cluster_metadata (KIP-516 reserves it).
var metadataTopicID = topicID{15: 1}

// A topicNames knows the names of topics by their ids, as far as messages of the capture have told them. Ids are never used twice.
type topicNames map[topicID][]byte

func (t topicNames) name(id []byte) []byte {
	if len(id) != len(topicID{}) {
		return nil
	}
	return t[topicID(id)]
}

// newTopicNames knows the one topic whose id is fixed.
func newTopicNames() topicNames {
	return topicNames{metadataTopicID: []byte("__cluster_metadata")}
}

// resolve adds the names of topics that a message has by their ids alone.
func (t topicNames) resolve(f *Facts) {
	for i := range f.Topics {
		if topic := &f.Topics[i]; topic.Name == nil {
			topic.Name = t.name(topic.ID)
			topic.Resolved = topic.Name != nil
		}
	}
}

// learn takes the names out of a message that has both. A name is copied the first time only.
func (t topicNames) learn(f *Facts) {
	for i := range f.Topics {
		topic := &f.Topics[i]
		if len(topic.Name) == 0 || len(topic.ID) != len(topicID{}) {
			continue
		}
		id := topicID(topic.ID)
		if id == (topicID{}) || len(t) >= maxTopicNames || bytes.Equal(t[id], topic.Name) {
			continue
		}
		t[id] = bytes.Clone(topic.Name)
	}
}
