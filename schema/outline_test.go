package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The outline of a message with a field of each kind, made by hand: what lies between values with a role is one step.
func TestOutline(t *testing.T) {
	m, err := Parse("OutlineRequest.json", []byte(`{"type": "request", "apiKey": 9999, "name": "OutlineRequest", "validVersions": "0-1", "flexibleVersions": "1+", "fields": [
		{"name": "A", "type": "int32", "versions": "0+"},
		{"name": "B", "type": "int16", "versions": "0+"},
		{"name": "ErrorCode", "type": "int16", "versions": "0+"},
		{"name": "Text", "type": "string", "versions": "0+", "nullableVersions": "0+"},
		{"name": "Topics", "type": "[]Topic", "versions": "0+", "fields": [
			{"name": "Name", "type": "string", "versions": "0+", "entityType": "topicName"},
			{"name": "Ids", "type": "[]int64", "versions": "0+"},
			{"name": "Ranges", "type": "[]Range", "versions": "1+", "fields": [
				{"name": "From", "type": "int16", "versions": "1+"},
				{"name": "To", "type": "int16", "versions": "1+"}]}]},
		{"name": "C", "type": "bool", "versions": "0+"},
		{"name": "Pair", "type": "Pair", "versions": "0+", "nullableVersions": "0+", "fields": [
			{"name": "X", "type": "int8", "versions": "0+"},
			{"name": "Y", "type": "int64", "versions": "0+"}]},
		{"name": "ReplicaId", "type": "int32", "versions": "1+", "tag": 0, "taggedVersions": "1+"},
		{"name": "Other", "type": "Other", "versions": "1+", "tag": 1, "taggedVersions": "1+", "nullableVersions": "1+", "fields": [
			{"name": "Z", "type": "int8", "versions": "1+"}]},
		{"name": "Names", "type": "[]string", "versions": "1+", "tag": 2, "taggedVersions": "1+"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range [][]string{
		{
			"0: +6 error ErrorCode",
			"1: short nullable Text",
			"2: int elements of depth 0, else 6",
			"3: short text Name",
			"4: int span of 8",
			"5: loop of depth 0 to 3",
			"6: +1 present, else 8",
			"7: +9 skip",
			"8: end",
		},
		{
			"0: +6 error ErrorCode",
			"1: compact nullable Text",
			"2: compact elements of depth 0, else 8",
			"3: compact text Name",
			"4: compact span of 8",
			"5: compact tagged span of 4",
			"6: tags",
			"7: loop of depth 0 to 3",
			"8: +1 present, else 10",
			"9: +9 tags",
			"10: tags; 0: 0: value ReplicaId 1: end; 2: 0: compact elements of depth 0, else 3 1: compact string 2: loop of depth 0 to 1 3: end",
			"11: end",
		},
	} {
		if got := stepTexts(compile(m, int16(version)).Outline); !slices.Equal(got, want) {
			t.Errorf("v%d:\n got %s\nwant %s", version, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

// stepTexts writes the steps of an outline, numbered in their order.
func stepTexts(first *Step) []string {
	number := map[*Step]int{}
	for s := first; s != nil; s = s.Next {
		number[s] = len(number)
	}
	var texts []string
	for s := first; s != nil; s = s.Next {
		text := fmt.Sprintf("%d:", number[s])
		if s.Skip > 0 {
			text += fmt.Sprintf(" +%d", s.Skip)
		}
		text += " " + [...]string{"skip", "partition", "offset", "error", "throttle", "value", "short", "int", "compact", "loop", "present", "tags", "tag", "end"}[s.Code]
		if s.Nullable {
			text += " nullable"
		}
		switch {
		case s.Code == LoopStep:
			text += fmt.Sprintf(" of depth %d to %d", s.Depth, number[s.Jump])
		case s.Code == PresentStep:
			text += fmt.Sprintf(", else %d", number[s.Jump])
		case s.Code == TagsStep:
			for tag := s.Jump; tag != nil; tag = tag.Next {
				text += fmt.Sprintf("; %d: %s", tag.Tag, strings.Join(stepTexts(tag.Jump), " "))
			}
		case s.Holds == Elements:
			text += fmt.Sprintf(" elements of depth %d, else %d", s.Depth, number[s.Jump])
		case s.Holds == TaggedSpan:
			text += fmt.Sprintf(" tagged span of %d", s.Bytes)
		case s.Holds == Span:
			text += fmt.Sprintf(" span of %d", s.Bytes)
		case s.Holds == Text:
			text += " text"
		}
		if s.Op != nil {
			text += " " + s.Op.Name
		}
		texts = append(texts, text)
	}
	return texts
}

// Arrays that nest too deep, or whose elements have no bytes, have no outline: their messages are read along the plan.
func TestNoOutline(t *testing.T) {
	deep := `{"name": "ErrorCode", "type": "int16", "versions": "0+"}`
	for i := range MaxNesting + 1 {
		if !outlined(t, deep) {
			t.Errorf("no outline of %d arrays in each other", i)
		}
		deep = fmt.Sprintf(`{"name": "A%d", "type": "[]S%d", "versions": "0+", "fields": [%s]}`, i, i, deep)
	}
	if outlined(t, deep) {
		t.Errorf("an outline of %d arrays in each other", MaxNesting+1)
	}
	if outlined(t, `{"name": "A", "type": "[]S", "versions": "0+", "fields": [{"name": "B", "type": "int8", "versions": "1+"}]}`) {
		t.Error("an outline of elements without bytes")
	}
}

func outlined(t *testing.T, field string) bool {
	t.Helper()
	m, err := Parse("DeepRequest.json", []byte(`{"type": "request", "apiKey": 9999, "name": "DeepRequest", "validVersions": "0-1", "flexibleVersions": "none", "fields": [`+field+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	return compile(m, 0).Outline != nil
}

// Every message of Kafka has an outline.
func TestOutlines(t *testing.T) {
	catalog := Embedded()
	for api := range catalog.APIs {
		for version := api.Versions.Low; version <= api.Versions.High; version++ {
			for _, kind := range []Kind{Request, Response} {
				if plan := catalog.Plan(api.Key, version, kind); plan != nil && plan.Outline == nil {
					t.Errorf("%s v%d %s has no outline", api.Name, version, kind)
				}
			}
		}
	}
}
