package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// What a session holds is worked out once more here, from the payloads alone, and held against what is shown of it.

type partitionJSON struct {
	Partition, PartitionIndex int
	FetchOffset               int64
}

type fetchMessage struct {
	Number     int
	Connection struct {
		ID     int
		Server string
	}
	Header struct {
		Type       string
		APIName    string
		APIVersion int
	}
	Payload *struct {
		SessionID         int64
		SessionEpoch      int
		ShareSessionEpoch int
		GroupID, MemberID string
		ErrorCode         int
		Topics            []struct {
			Topic, TopicID string
			Partitions     []partitionJSON
		}
		ForgottenTopicsData []struct {
			Topic, TopicID string
			Partitions     []int
		}
	}
	Facts struct {
		Session *struct {
			ID, Epoch  int64
			Step       string
			Known      bool
			Partitions int
			Asks       []struct {
				Name, ID    string
				Partition   int
				FetchOffset *int64
			}
		}
	}
	Request  int
	Findings []struct{ Code string }
}

// A sessionModel follows the sessions of one capture.
type sessionModel struct {
	t      *testing.T
	name   string
	held   map[string]map[string]int64 // by session, offset by partition
	opens  map[int]map[string]int64    // by request
	shares map[int]string              // the session that a request of a share consumer opens

	compared, unknown int
}

func (s *sessionModel) message(line string) {
	var m fetchMessage
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		s.t.Fatalf("%s: %v", s.name, err)
	}
	if m.Payload == nil {
		return
	}
	switch {
	case m.Header.APIName == "Fetch" && m.Header.APIVersion >= 7:
		s.fetch(&m, m.Payload.SessionEpoch, func(id int64) string { return fmt.Sprintf("%s %d", m.Connection.Server, id) })
	case m.Header.APIName == "ShareFetch":
		key := strings.Join([]string{m.Connection.Server, m.Payload.GroupID, m.Payload.MemberID}, " ")
		if m.Header.Type == "RESPONSE" {
			key = s.shares[m.Request]
		} else {
			s.shares[m.Number] = key
		}
		s.fetch(&m, m.Payload.ShareSessionEpoch, func(int64) string { return key })
	}
}

func (s *sessionModel) fetch(m *fetchMessage, epoch int, key func(int64) string) {
	p, share := m.Payload, m.Header.APIName == "ShareFetch"
	if m.Header.Type == "RESPONSE" {
		if held := s.opens[m.Request]; held != nil && p.ErrorCode == 0 && (p.SessionID != 0 || share) {
			s.held[key(p.SessionID)] = held
		}
		if p.ErrorCode >= 70 && p.ErrorCode <= 71 {
			if m.Facts.Session == nil || m.Facts.Session.Step != "lost" {
				s.t.Errorf("%s #%d: error %d does not end a session: %+v", s.name, m.Number, p.ErrorCode, m.Facts.Session)
			}
		}
		return
	}
	if epoch < 0 {
		delete(s.held, key(p.SessionID))
		return
	}
	held := s.held[key(p.SessionID)]
	if epoch == 0 {
		held = map[string]int64{}
		s.opens[m.Number] = held
		delete(s.held, key(p.SessionID))
	}
	shown := m.Facts.Session
	if shown == nil {
		s.t.Errorf("%s #%d: nothing is said of the session", s.name, m.Number)
		return
	}
	if held == nil {
		s.unknown++
		if shown.Known {
			s.t.Errorf("%s #%d: a session that was opened before is said to be known", s.name, m.Number)
		}
		return
	}
	for _, topic := range p.Topics {
		for _, q := range topic.Partitions {
			held[fmt.Sprintf("%s%s/%d", topic.Topic, topic.TopicID, q.Partition+q.PartitionIndex)] = q.FetchOffset
		}
	}
	for _, topic := range p.ForgottenTopicsData {
		for _, q := range topic.Partitions {
			delete(held, fmt.Sprintf("%s%s/%d", topic.Topic, topic.TopicID, q))
		}
	}
	s.compare(m, held, share)
}

func (s *sessionModel) compare(m *fetchMessage, held map[string]int64, share bool) {
	var want, got []string
	for partition, offset := range held {
		if share {
			want = append(want, partition)
		} else {
			want = append(want, fmt.Sprintf("%s@%d", partition, offset))
		}
	}
	shown := m.Facts.Session
	for _, a := range shown.Asks {
		topic := a.ID
		if topic == "" {
			topic = a.Name
		}
		if a.FetchOffset != nil {
			got = append(got, fmt.Sprintf("%s/%d@%d", topic, a.Partition, *a.FetchOffset))
		} else {
			got = append(got, fmt.Sprintf("%s/%d", topic, a.Partition))
		}
	}
	sort.Strings(want)
	sort.Strings(got)
	if len(want) > 100 {
		want = nil // no more than so many are listed, and any of them
		got = nil
	}
	if fmt.Sprint(want) != fmt.Sprint(got) || !shown.Known || shown.Partitions != len(held) {
		s.t.Errorf("%s #%d: the session asks for %v, shown is %+v with %v", s.name, m.Number, want, *shown, got)
	}
	s.compared++
}

func TestSessionsOfCaptures(t *testing.T) {
	compared := 0
	for _, name := range captures(t) {
		if strings.Contains(name, "lost") || strings.Contains(name, "snaplen") || strings.Contains(name, "trunc") {
			continue // requests that were missed may have changed a session
		}
		var out bytes.Buffer
		readCapture(t, name, NewJSON(&out, Options{Records: RecordsNone}))
		s := sessionModel{t: t, name: name, held: map[string]map[string]int64{}, opens: map[int]map[string]int64{}, shares: map[int]string{}}
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, `"apiName":"Fetch",`) || strings.Contains(line, `"apiName":"ShareFetch",`) {
				s.message(line)
			}
		}
		if s.unknown > 0 {
			t.Logf("%s: %d requests of sessions that were opened before the capture, %d compared", name, s.unknown, s.compared)
		}
		compared += s.compared
	}
	if compared < 500 {
		t.Errorf("only %d requests were compared", compared)
	}
	t.Logf("%d requests compared", compared)
}

// Of an opening whose list of partitions is not in the capture no number is told.
func TestSessionOpensCut(t *testing.T) {
	tree := &Tree{m: &dissect.Message{Head: &dissect.Head{Kind: schema.Request}}}
	for want, s := range map[string]dissect.Session{
		"opens":                   {Step: dissect.SessionOpens},
		"opens with 0 partitions": {Step: dissect.SessionOpens, Known: true},
		"opens with 1 partition":  {Step: dissect.SessionOpens, Partitions: 1},
	} {
		if got := string(tree.appendStep(nil, &s)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
