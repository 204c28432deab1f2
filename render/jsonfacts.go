package render

import "github.com/kdissect/kdissect/dissect"

func appendFacts(b []byte, m *dissect.Message) []byte { return b }
