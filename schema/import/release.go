package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/kdissect/kdissect/schema"
)

// A release is the messages of one Kafka release, by module and name ("clients/FetchRequest").
type release map[string]*schema.Message

// readRelease reads a directory of modules, a directory of JARs, or a JAR. Its name says which release it is, unless it is a catalog, whose index knows it.
func readRelease(source string) (release, error) {
	found, err := schema.ReadSources(source)
	if err != nil {
		return nil, err
	}
	index, err := fs.ReadFile(os.DirFS(source), "index.tsv")
	if err == nil {
		return releaseOf(found), schema.ReadReleases(index, found)
	}
	kafka := releaseName(source)
	for _, f := range found {
		f.Message.Releases = []schema.Release{{Kafka: kafka, Versions: f.Message.ValidVersions, Unstable: f.Message.LatestUnstable}}
	}
	return releaseOf(found), nil
}

func releaseOf(found []schema.Found) release {
	r := make(release, len(found))
	for _, f := range found {
		r[f.Module+"/"+f.Message.Name] = f.Message
	}
	return r
}

var releaseNumber = regexp.MustCompile(`[0-9]+(\.[0-9]+)+`)

// releaseName is the number of the release that a directory or JAR is named after, else its whole name.
func releaseName(source string) string {
	name := filepath.Base(filepath.Clean(source))
	if number := releaseNumber.FindString(name); number != "" {
		return number
	}
	return name
}
