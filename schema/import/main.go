// Command import makes the built-in catalog out of Kafka's own schema files: names, types,
// versions, tags, defaults and entity types, none of the prose.
//
//	go run ./schema/import -o schema/catalog SOURCE...
//
// A source is one Kafka release: a directory with a folder for each of Kafka's modules (clients,
// metadata, group-coordinator ...), a directory of Kafka's JAR files, or one JAR file. Sources come
// oldest first; a later one gives the names and adds versions, an earlier one fills in the versions that the later dropped. The
// catalog itself is such a directory, so a new release is merged into what is there by
//
//	go run ./schema/import -o schema/catalog schema/catalog NEW
package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
)

func main() {
	out := pflag.StringP("output", "o", "schema/catalog", "directory of the catalog")
	pflag.Parse()
	if pflag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: import -o DIRECTORY SOURCE... (oldest release first)")
		os.Exit(2)
	}
	if err := run(*out, pflag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "import:", err)
		os.Exit(1)
	}
}

func run(out string, sources []string) error {
	var merged release
	for _, source := range sources {
		next, err := readRelease(source)
		if err != nil {
			return err
		}
		if merged, err = mergeReleases(merged, next); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
	}
	return writeCatalog(out, merged)
}
