package dissect

// maxTopicNames bounds what is remembered of a capture's topics: 64 Ki of them take about 10 MB.
const maxTopicNames = 64 << 10

type topicID [16]byte

// metadataTopicID is the fixed id of __cluster_metadata (KIP-516 reserves it).
var metadataTopicID = topicID{15: 1}

// A topicNames knows the names of topics by their ids, as far as messages of the capture have told them. Ids are never used twice.
type topicNames map[topicID]string

func (t topicNames) name(id []byte) string {
	if len(id) != len(topicID{}) {
		return ""
	}
	if topicID(id) == metadataTopicID {
		return "__cluster_metadata"
	}
	return t[topicID(id)]
}

// learn takes the names out of a message that has both. A name is copied the first time only.
func (t topicNames) learn(f *Facts) {
	for i := range f.Topics {
		topic := &f.Topics[i]
		if len(topic.Name) == 0 || len(topic.ID) != len(topicID{}) {
			continue
		}
		id := topicID(topic.ID)
		if id == (topicID{}) || len(t) >= maxTopicNames || t[id] == string(topic.Name) {
			continue
		}
		t[id] = string(topic.Name)
	}
}
