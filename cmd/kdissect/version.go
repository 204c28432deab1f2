package main

import (
	"fmt"
	"runtime/debug"

	"github.com/kdissect/kdissect/schema"
)

// version says what was built: the module's version or the commit, and how much of Kafka is known.
func version() string {
	built := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		built = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && (built == "" || built == "(devel)") {
				built = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	apis := 0
	for range schema.Embedded().APIs {
		apis++
	}
	return fmt.Sprintf("%s, %d Kafka APIs", built, apis)
}
