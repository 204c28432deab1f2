package explain

import (
	"fmt"
	"strings"

	"github.com/kdissect/kdissect/schema"
)

// A Block is a structure of the wire diagram: its fields in the order of the bytes.
type Block struct {
	Title string
	Cells []Cell
}

// A Cell is a field of a block.
type Cell struct{ Name, Type string }

// Blocks are the wire diagram: what stands in front, then the body and each structure inside it.
func (part *Part) Blocks() []Block {
	var blocks []Block
	if part.Plan.Header != nil {
		header := Block{Title: fmt.Sprintf("%s header v%d", part.label(), part.Plan.Header.Version), Cells: []Cell{{"size", "int32, 4B"}}}
		header.Cells = append(header.Cells, cellsOf(part.Plan.Header, 0)...)
		blocks = append(blocks, header)
	}
	return appendBlocks(blocks, part.Plan, 0, fmt.Sprintf("%s v%d", part.Message.Name, part.Plan.Version))
}

// appendBlocks appends the structure at an index of the plan, and those inside it.
func appendBlocks(blocks []Block, plan *schema.Plan, at int32, title string) []Block {
	blocks = append(blocks, Block{title, cellsOf(plan, at)})
	for i := at + 1; i < plan.Ops[at].Next; i++ {
		op := &plan.Ops[i]
		if op.Code != schema.OpStruct {
			continue
		}
		name := op.Name
		if op.Field != nil {
			name = op.Field.Name + ": " + op.Field.Type.String()
		}
		blocks = appendBlocks(blocks, plan, i, name)
		i = op.Next - 1
	}
	return blocks
}

func cellsOf(plan *schema.Plan, at int32) []Cell {
	var cells []Cell
	end := plan.Ops[at].Next
	for i := at + 1; i < end; i = plan.Ops[i].Next {
		op := &plan.Ops[i]
		if op.Code != schema.OpTags {
			cells = append(cells, Cell{op.Name, typeOf(op)})
			continue
		}
		cells = append(cells, Cell{"tagged fields", "uvarint count"})
		for j := i + 1; j < op.Next; j = plan.Ops[j].Next {
			tagged := &plan.Ops[j]
			cells = append(cells, Cell{tagged.Name, fmt.Sprintf("tag %d, %s", tagged.Tag, typeOf(tagged))})
		}
	}
	return cells
}

// typeOf is the type of a field and how long it is.
func typeOf(op *schema.Op) string {
	text := op.TypeName()
	switch {
	case op.Code == schema.OpArray && op.Compact:
		text += ", uvarint n+1"
	case op.Code == schema.OpArray:
		text += ", int32 n"
	case op.Fixed > 0 && op.Code != schema.OpStruct:
		text = fmt.Sprintf("%s, %dB", text, op.Fixed)
	case op.Code == schema.OpString && op.Compact, op.Code == schema.OpBytes && op.Compact, op.Code == schema.OpRecords && op.Compact:
		text += ", uvarint len+1"
	case op.Code == schema.OpString:
		text += ", int16 len"
	case op.Code == schema.OpBytes, op.Code == schema.OpRecords:
		text += ", int32 len"
	}
	if op.Nullable {
		text += ", null"
	}
	return text
}

// diagramWidth is how wide the diagram is as text.
const diagramWidth = 110

// Diagram is the wire diagram as text: a box for each field.
func (part *Part) Diagram() string {
	var b strings.Builder
	for i, block := range part.Blocks() {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(block.Title + "\n")
		for cells := block.Cells; len(cells) > 0; {
			n := fitting(cells)
			writeBoxes(&b, cells[:n])
			cells = cells[n:]
		}
	}
	return b.String()
}

func (c *Cell) width() int { return max(len(c.Name), len(c.Type)) }

// fitting is how many of the cells stand side by side, one at least.
func fitting(cells []Cell) int {
	width := 1
	for i := range cells {
		if width += cells[i].width() + 3; width > diagramWidth && i > 0 {
			return i
		}
	}
	return len(cells)
}

func writeBoxes(b *strings.Builder, cells []Cell) {
	if len(cells) == 0 {
		return
	}
	line, names, types := "+", "|", "|"
	for i := range cells {
		c := &cells[i]
		line += strings.Repeat("-", c.width()+2) + "+"
		names += fmt.Sprintf(" %-*s |", c.width(), c.Name)
		types += fmt.Sprintf(" %-*s |", c.width(), c.Type)
	}
	b.WriteString(line + "\n" + names + "\n" + types + "\n" + line + "\n")
}
