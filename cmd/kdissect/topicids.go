package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"github.com/kdissect/kdissect/dissect"
)

// A namedTopic is a topic whose id and name a file of --topic-ids has.
type namedTopic struct {
	id   dissect.TopicID
	name string
}

// readTopicIDs reads a file with ids and names of topics: a line each, or what `kafka-topics.sh --describe` prints. An error names file and line.
func readTopicIDs(path string) (topics []namedTopic, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		topic, err := parseTopicID(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		if topic.name != "" {
			topics = append(topics, topic)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return topics, nil
}

// parseTopicID reads a line. The name is empty where the line has none and need not: it is blank, or describes a partition.
func parseTopicID(line string) (topic namedTopic, err error) {
	words := strings.Fields(line)
	switch {
	case len(words) == 0:
		return topic, nil
	case len(words) >= 4 && words[0] == "Topic:" && words[2] == "TopicId:":
		words = []string{words[3], words[1]}
	case len(words) >= 4 && words[0] == "Topic:" && words[2] == "Partition:":
		return topic, nil
	}
	if len(words) != 2 {
		return topic, fmt.Errorf("%q is not a topic id and a name", line)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(words[0])
	if err != nil || len(raw) != len(topic.id) {
		return topic, fmt.Errorf("%q is not a topic id: those have 22 letters, digits, - and _", words[0])
	}
	return namedTopic{dissect.TopicID(raw), words[1]}, nil
}
