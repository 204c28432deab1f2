package pcapfilter

import (
	"fmt"
	"strings"
)

// scan splits an expression into words: operators, parentheses, and all else between spaces.
func scan(text string) ([]string, error) {
	var words []string
	for len(text) > 0 {
		size := wordSize(text)
		switch word := text[:size]; word {
		case " ", "\t", "\n", "\r":
		case "&&":
			words = append(words, "and")
		case "||":
			words = append(words, "or")
		case "!":
			words = append(words, "not")
		case "&", "|", "[", "]", "=", "<", ">", "+", "*", "^", "%", "!=", "==", "<=", ">=":
			return nil, fmt.Errorf("%q: arithmetic and comparisons are %w", word, ErrUnsupported)
		default:
			words = append(words, word)
		}
		text = text[size:]
	}
	return words, nil
}

// wordSize returns the length of the word at the head of text, which is not empty.
func wordSize(text string) int {
	for _, two := range []string{"&&", "||", "!=", "==", "<=", ">="} {
		if strings.HasPrefix(text, two) {
			return 2
		}
	}
	switch end := strings.IndexAny(text, " \t\n\r()!&|[]=<>+*^%"); end {
	case -1:
		return len(text)
	case 0:
		return 1
	default:
		return end
	}
}
