package dissect

import "strconv"

// AppendPath appends where a node stands, in the form `topics[0].partitions[1].errorCode`: "" is the body itself,
// paths in the header begin with "header".
func (v *View) AppendPath(path []byte, at int) []byte {
	tape, start := v.Nodes, len(path)
	for i := 0; i <= at; {
		n := &tape[i]
		if int(n.Next) <= at {
			i = int(n.Next)
			continue
		}
		path = v.appendStep(path, start, n, i)
		i++
	}
	return path
}

func (v *View) appendStep(path []byte, start int, n *Node, at int) []byte {
	switch {
	case n.Kind != StructNode && n.Kind != ArrayNode && n.Kind != ValueNode, at == v.body, n.Op == nil:
		return path
	case n.Op.Element:
		path = append(path, '[')
		path = strconv.AppendUint(path, uint64(n.Count), 10)
		return append(path, ']')
	case n.Op.Field == nil:
		return append(path, "header"...)
	}
	if len(path) > start {
		path = append(path, '.')
	}
	return append(path, n.Op.JSON...)
}
