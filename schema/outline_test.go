package schema

import (
	"reflect"
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
			{"name": "Ids", "type": "[]int64", "versions": "0+"}]},
		{"name": "C", "type": "bool", "versions": "0+"},
		{"name": "Pair", "type": "Pair", "versions": "0+", "nullableVersions": "1+", "fields": [
			{"name": "X", "type": "int8", "versions": "0+"},
			{"name": "Y", "type": "int64", "versions": "0+"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range [][]Step{
		{
			{Code: SkipStep, Op: 2, Bytes: 6, Next: 1},
			{Code: ValueStep, Role: ErrorCode, Op: 3, Bytes: 2, Next: 2},
			{Code: TextStep, Prefix: ShortPrefix, Nullable: true, Op: 4, Next: 3},
			{Code: ArrayStep, Prefix: IntPrefix, Op: 5, Next: 7},
			{Code: TextStep, Role: TopicName, Prefix: ShortPrefix, Op: 7, Next: 5},
			{Code: ArrayStep, Prefix: IntPrefix, Op: 8, Bytes: 8, Next: 7},
			{Code: SkipStep, Op: 9, Bytes: 8, Next: 7},
			{Code: SkipStep, Op: 11, Bytes: 1 + 9, Next: 8},
		},
		{
			{Code: SkipStep, Op: 2, Bytes: 6, Next: 1},
			{Code: ValueStep, Role: ErrorCode, Op: 3, Bytes: 2, Next: 2},
			{Code: TextStep, Prefix: CompactPrefix, Nullable: true, Op: 4, Next: 3},
			{Code: ArrayStep, Prefix: CompactPrefix, Op: 5, Next: 8},
			{Code: TextStep, Role: TopicName, Prefix: CompactPrefix, Op: 7, Next: 5},
			{Code: ArrayStep, Prefix: CompactPrefix, Op: 8, Bytes: 8, Next: 7},
			{Code: SkipStep, Op: 9, Bytes: 8, Next: 7},
			{Code: TagsStep, Op: 10, Next: 8},
			{Code: SkipStep, Op: 11, Bytes: 1, Next: 9},
			{Code: PresentStep, Nullable: true, Op: 12, Next: 12},
			{Code: SkipStep, Op: 14, Bytes: 9, Next: 11},
			{Code: TagsStep, Op: 15, Next: 12},
			{Code: TagsStep, Op: 16, Next: 13},
		},
	} {
		if got := compile(m, int16(version)).Outline; !reflect.DeepEqual(got, want) {
			t.Errorf("v%d:\n got %+v\nwant %+v", version, got, want)
		}
	}
}
