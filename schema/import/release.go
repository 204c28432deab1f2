package main

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/kdissect/kdissect/schema"
)

// A release is the messages of one Kafka release, by module and name ("clients/FetchRequest").
type release map[string]*schema.Message

// maxSchemaSize bounds what is read of one schema file. The largest of Kafka's has 40 KB.
const maxSchemaSize = 4 << 20

// readRelease reads a directory of modules, a directory of JARs, or a JAR.
func readRelease(source string) (release, error) {
	r := release{}
	if strings.HasSuffix(source, ".jar") {
		return r, r.addJar(source)
	}
	jars, err := filepath.Glob(filepath.Join(source, "*.jar"))
	if err != nil {
		return nil, err
	}
	for _, jar := range jars {
		if err := r.addJar(jar); err != nil {
			return nil, err
		}
	}
	if err := r.addFiles(os.DirFS(source), ""); err != nil {
		return nil, err
	}
	if len(r) == 0 {
		return nil, fmt.Errorf("%s: no schema files", source)
	}
	return r, nil
}

// addFiles adds every schema below a file system; the folder a file stands in is its module unless one is given.
func (r release) addFiles(files fs.FS, module string) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".json") {
			return err
		}
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxSchemaSize))
		if err != nil {
			return err
		}
		in := module
		if in == "" {
			in = path.Base(path.Dir(name))
		}
		return r.add(in, name, text)
	})
}

// addJar adds the schemas that Kafka's JARs carry under common/message. The file's name says the module:
// kafka-group-coordinator-4.4.0.jar.
func (r release) addJar(file string) error {
	jar, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer jar.Close()
	messages, err := fs.Sub(jar, "common/message")
	if err != nil {
		return err
	}
	if _, err := fs.Stat(messages, "."); err != nil {
		return nil // a JAR without schemas
	}
	return r.addFiles(messages, moduleOfJar(filepath.Base(file)))
}

func moduleOfJar(name string) string {
	name = strings.TrimPrefix(strings.TrimSuffix(name, ".jar"), "kafka-")
	if i := strings.IndexFunc(name, func(c rune) bool { return '0' <= c && c <= '9' }); i > 0 {
		name = name[:i-1]
	}
	return name
}

func (r release) add(module, file string, text []byte) error {
	m, err := schema.Parse(file, text)
	if err != nil {
		return err
	}
	r[module+"/"+m.Name] = m
	return nil
}
