package filter

import (
	"cmp"
	"reflect"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// Payloads differ by API and version, so an expression names fields that are not there in most messages. Comparing one of them is not an error that
// ends the whole expression: it is false, as with jq.

// comparing are the functions that stand for comparisons of values whose type is known only when they are there. Nobody can write these names.
var comparing = map[string]string{"<": "compare<", "<=": "compare<=", ">": "compare>", ">=": "compare>="}

// leniently are the options for that.
func leniently() []expr.Option {
	options := []expr.Option{expr.Patch(lenient{})}
	for operator, name := range comparing {
		options = append(options, expr.Function(name, func(args ...any) (any, error) {
			return ordered(operator, args[0], args[1]), nil
		}, new(func(any, any) bool)))
	}
	return options
}

// lenient puts functions in the place of such comparisons.
type lenient struct{}

// Visit implements ast.Visitor.
func (lenient) Visit(node *ast.Node) {
	n, ok := (*node).(*ast.BinaryNode)
	if !ok || comparing[n.Operator] == "" || !untyped(n.Left) && !untyped(n.Right) {
		return
	}
	ast.Patch(node, &ast.CallNode{Callee: &ast.IdentifierNode{Value: comparing[n.Operator]}, Arguments: []ast.Node{n.Left, n.Right}})
}

func untyped(n ast.Node) bool {
	t := n.Type()
	return t == nil || t.Kind() == reflect.Interface
}

// ordered compares two numbers or two strings; everything else is in no order.
func ordered(operator string, a, b any) bool {
	var order int
	x, isText := a.(string)
	y, otherIsText := b.(string)
	switch {
	case isText && otherIsText:
		order = cmp.Compare(x, y)
	case isText || otherIsText:
		return false
	default:
		var known bool
		if order, known = compareNumbers(a, b); !known {
			return false
		}
	}
	switch operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func compareNumbers(a, b any) (order int, known bool) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case x.IsValid() && y.IsValid() && x.CanInt() && y.CanInt():
		return cmp.Compare(x.Int(), y.Int()), true
	case isNumber(x) && isNumber(y):
		return cmp.Compare(float(x), float(y)), true
	}
	return 0, false
}

func isNumber(v reflect.Value) bool { return v.IsValid() && (v.CanInt() || v.CanFloat()) }

func float(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}
