package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kdissect/kdissect/explain"
	"github.com/kdissect/kdissect/schema"
)

// schemaFlags are the flags that add schemas to those that are built in.
type schemaFlags struct {
	sources, keys, topics []string
}

func (s *schemaFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&s.sources, "schemas", nil, "`path` of schemas to add: a directory, a file, or a JAR such as kafka-clients")
	flags.StringArrayVar(&s.keys, "api-key", nil, "a key for a draft among them: `NAME=KEY`")
	flags.StringArrayVar(&s.topics, "coordinator-topic", nil, "a topic whose records have the schemas NAMEKey and NAMEValue: `TOPIC=NAME`")
}

// catalog returns the schemas that are built in, with those that the flags add.
func (s *schemaFlags) catalog() (*schema.Catalog, error) {
	x := schema.Extension{Sources: s.sources, APIKeys: map[string]int16{}, CoordinatorTopics: map[string][]string{}}
	for _, word := range s.keys {
		name, number, _ := strings.Cut(word, "=")
		key, err := strconv.ParseUint(number, 10, 15)
		if name == "" || err != nil {
			return nil, fmt.Errorf("--api-key %s: NAME=KEY is wanted, such as LastMirroredOffsets=501", word)
		}
		x.APIKeys[name] = int16(key)
	}
	for _, word := range s.topics {
		topic, name, _ := strings.Cut(word, "=")
		if topic == "" || name == "" {
			return nil, fmt.Errorf("--coordinator-topic %s: TOPIC=NAME is wanted, such as __mirror_state=LastMirroredOffsets", word)
		}
		x.CoordinatorTopics[topic] = append(x.CoordinatorTopics[topic], name)
	}
	return schema.Extend(&x)
}

const schemasHelp = `Show which schemas are known, and where they come from.

Schemas are added with --schemas, here as in every other command: a file, a directory, or a JAR of Kafka. One with the key or name of a built-in
one takes its place. A draft whose "apiKey" is TBD is explained as it is, and gets a number by --api-key where it is to be read off the wire.

Two releases are compared with --diff. Those that are built in are known as the newest describes them, so that what was added to a version which there was before does not
show; the schema files or JARs of both say all.`

const schemasExamples = `  kdissect schemas
  kdissect schemas --schemas kafka-clients-4.5.0.jar
  kdissect schemas --diff 3.9.1 4.4.0
  kdissect schemas --diff 4.4.0 ~/kafka/clients/src/main/resources/common/message
  kdissect explain --schemas kip/ LastMirroredOffsets`

func newSchemas() *cobra.Command {
	var s schemaFlags
	var diff bool
	cmd := &cobra.Command{
		Use:     "schemas [flags] | schemas --diff A B",
		Short:   "What is known, and where it came from",
		Long:    schemasHelp,
		Example: schemasExamples,
		RunE: func(_ *cobra.Command, args []string) error {
			catalog, err := s.catalog()
			switch {
			case err != nil:
				return err
			case diff && len(args) != 2:
				return errors.New("--diff compares two: releases, directories, files or JARs")
			case diff:
				return printDiff(catalog, args[0], args[1])
			case len(args) > 0:
				return fmt.Errorf("schemas takes no argument; to load schemas say --schemas %s", args[0])
			}
			return write([]byte(explain.Schemas(catalog)))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&diff, "diff", false, "what changed between two releases")
	s.register(flags)
	return cmd
}

func printDiff(catalog *schema.Catalog, a, b string) error {
	older, err := schemasOf(catalog, a)
	if err != nil {
		return err
	}
	newer, err := schemasOf(catalog, b)
	if err != nil {
		return err
	}
	return write([]byte(explain.Diff(older, newer)))
}

// schemasOf returns the messages of a release that is built in, or of a source.
func schemasOf(catalog *schema.Catalog, name string) ([]*schema.Message, error) {
	if messages := catalog.MessagesOf(name); len(messages) > 0 {
		return messages, nil
	}
	messages, err := schema.ReadRelease(name)
	if err != nil {
		return nil, fmt.Errorf("%w (built in are the releases %s)", err, strings.Join(catalog.Releases(), " and "))
	}
	return messages, nil
}
