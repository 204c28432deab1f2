package render

import "github.com/kdissect/kdissect/schema"

// A script is a plan in the form that plain messages are written by: steps that are linked, the first of them. All that stands between two values is put together
// once: braces, commas and names.
type script = *scriptStep

// A scriptStep writes one value and what stands in front of it.
type scriptStep struct {
	text     string
	short    [32]byte   // the text again, where it is not longer
	op       *schema.Op // of the value
	sizeKey  string     // of records, the name of their size
	code     schema.OpCode
	prefix   schema.Prefix
	nullable bool
	zero     bool // another value than 0 gives rise to a finding
	topic    bool // the records behind it are of this topic
	size     int32
	inside   *scriptStep // the first step of the element of an array, of a structure that may be null, or of a tagged field; the first field of a section of these
	next     *scriptStep
}

// noValue is the code of a step that writes only text.
const noValue = schema.OpTags + 1

// script returns that of a plan; nil where structures nest too deep.
func (j *JSON) script(plan *schema.Plan) script {
	first, made := j.scripts[plan]
	if !made {
		first = newScript(plan, j.options.Records)
		if j.scripts == nil {
			j.scripts = map[*schema.Plan]script{}
		}
		j.scripts[plan] = first
	}
	return first
}

func newScript(plan *schema.Plan, records RecordsMode) (first script) {
	w := scriptWriter{ops: plan.Ops, records: records, end: &first}
	w.structure(0, 0)
	if w.endText(); w.tooDeep {
		return nil
	}
	return first
}

// maxPlainDepth is how deep structures nest in a body that is written along a script. The deepest of Kafka has 7 levels.
const maxPlainDepth = 16

type scriptWriter struct {
	ops     []schema.Op
	records RecordsMode
	end     **scriptStep // where the next step is linked
	text    []byte       // to stand in front of the next value
	tooDeep bool
}

func (w *scriptWriter) structure(i int32, depth int) {
	if depth == maxPlainDepth {
		w.tooDeep = true
		return
	}
	w.text = append(w.text, '{')
	for f := i + 1; f < w.ops[i].Next; f = w.ops[f].Next {
		w.field(f, depth)
	}
	w.text = append(w.text, '}')
}

func (w *scriptWriter) field(i int32, depth int) {
	op := &w.ops[i]
	switch {
	case op.Code == schema.OpTags:
		w.tags(i, depth)
		return
	case op.Code == schema.OpRecords && w.records == RecordsNone:
		w.add(op, "") // what was put together is for the field behind it
		return
	}
	if n := len(w.text); n == 0 || w.text[n-1] != '{' {
		w.text = append(w.text, ',')
	}
	if op.Code != schema.OpRecords {
		w.text = append(w.text, op.Key...)
	}
	w.value(i, depth)
}

// tags adds a section of tagged fields, which ends a structure. Each field is a step with its name as text, which only the section's step leads to. Kafka has none of records,
// nor of a structure that may be null, which would begin in another way there.
func (w *scriptWriter) tags(i int32, depth int) {
	section := w.add(&w.ops[i], w.takeText())
	behind := w.end
	end := &section.inside
	for f := i + 1; f < w.ops[i].Next; f = w.ops[f].Next {
		op := &w.ops[f]
		if op.Code == schema.OpRecords || op.Code == schema.OpStruct && op.Nullable {
			continue
		}
		field := &scriptStep{text: op.Key, op: op}
		w.end = &field.inside
		w.value(f, depth)
		w.endText()
		*end, end = field, &field.next
	}
	w.end = behind
}

func (w *scriptWriter) value(i int32, depth int) {
	op := &w.ops[i]
	if op.Code == schema.OpStruct && !op.Nullable {
		w.structure(i, depth+1)
		return
	}
	step := w.add(op, w.takeText())
	w.end = &step.inside
	switch op.Code {
	case schema.OpStruct:
		w.structure(i, depth+1)
	case schema.OpArray:
		w.value(i+1, depth)
	}
	w.endText()
	w.end = &step.next
}

// add adds a step that writes what an Op stands for.
func (w *scriptWriter) add(op *schema.Op, text string) *scriptStep {
	step := scriptStep{text: text, op: op, code: op.Code, prefix: op.Prefix(), nullable: op.Nullable, size: op.Fixed,
		zero: op.Role == schema.ErrorCode || op.Role == schema.ThrottleTime, topic: w.records == RecordsFull && (op.Role == schema.TopicName || op.Role == schema.TopicID && !op.Element)}
	if op.Code == schema.OpRecords {
		step.sizeKey = `"` + op.JSON + sizeSuffix + `":`
	}
	return w.append(step)
}

func (w *scriptWriter) append(step scriptStep) *scriptStep {
	copy(step.short[:], step.text)
	*w.end, w.end = &step, &step.next
	return &step
}

func (w *scriptWriter) takeText() string {
	text := string(w.text)
	w.text = w.text[:0]
	return text
}

// endText adds a step for text that no value follows.
func (w *scriptWriter) endText() {
	if len(w.text) > 0 {
		w.append(scriptStep{text: w.takeText(), code: noValue})
	}
}
