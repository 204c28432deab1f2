package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kdissect/kdissect/schema"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "What was built, and how much of Kafka it knows",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), "kdissect "+version()) },
	}
}

// version says what was built, and how much of Kafka is known.
func version() string {
	built := "of unknown origin"
	if info, ok := debug.ReadBuildInfo(); ok {
		built = origin(info)
	}
	catalog := schema.Embedded()
	apis := 0
	for range catalog.APIs {
		apis++
	}
	releases := catalog.Releases()
	return fmt.Sprintf("%s, %s %s/%s\nKafka up to %s: %d APIs, %d messages and records", built, runtime.Version(), runtime.GOOS, runtime.GOARCH,
		releases[len(releases)-1], apis, len(catalog.Names()))
}

// origin returns the version of the module and the commit it was built from, as far as the build knows.
func origin(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	built := info.Main.Version
	revision := settings["vcs.revision"]
	if revision == "" {
		return built
	}
	built += " (commit " + revision[:min(12, len(revision))] + " of " + settings["vcs.time"]
	if settings["vcs.modified"] == "true" {
		built += ", modified"
	}
	return built + ")"
}
