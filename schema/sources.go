package schema

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A Found is a message read from somewhere else than the built-in catalog.
type Found struct {
	Module  string // of Kafka's sources that it belongs to: clients, metadata, group-coordinator ...
	File    string // where it was read
	Message *Message
}

// maxSchemaSize bounds what is read of one schema file. The largest of Kafka's has 40 KB.
const maxSchemaSize = 4 << 20

// ReadSources reads the messages of a file, of all files below a directory, of a JAR such as kafka-clients-4.4.0.jar, or of all JARs in a directory. A file holds one
// schema, or several one after the other. The order is that of the files' names. An error of a schema is a [*ParseError].
func ReadSources(source string) ([]Found, error) {
	info, err := os.Stat(source)
	if err != nil {
		return nil, err
	}
	r := sourceReader{}
	switch {
	case info.IsDir():
		err = r.directory(source)
	case strings.HasSuffix(source, ".jar"):
		err = r.jar(source)
	default:
		err = r.file(os.DirFS(filepath.Dir(source)), filepath.Base(source), source, "")
	}
	if err == nil && len(r.found) == 0 {
		err = fmt.Errorf("%s: no schema files", source)
	}
	return r.found, err
}

type sourceReader struct{ found []Found }

func (r *sourceReader) directory(dir string) error {
	jars, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil {
		return err
	}
	for _, jar := range jars {
		if err := r.jar(jar); err != nil {
			return err
		}
	}
	return r.files(os.DirFS(dir), dir, "")
}

// files reads every schema below a file system; the folder a file stands in is its module unless one is given.
func (r *sourceReader) files(files fs.FS, place, module string) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".json") {
			return err
		}
		in := module
		if in == "" {
			in = path.Base(path.Dir(name))
		}
		return r.file(files, name, filepath.Join(place, filepath.FromSlash(name)), in)
	})
}

// jar reads the schemas that Kafka's JARs carry under common/message. The JAR's name says the module.
func (r *sourceReader) jar(file string) error {
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
	return r.files(messages, file+":common/message", moduleOfJar(filepath.Base(file)))
}

// moduleOfJar is group-coordinator for kafka-group-coordinator-4.4.0.jar.
func moduleOfJar(name string) string {
	name = strings.TrimPrefix(strings.TrimSuffix(name, ".jar"), "kafka-")
	if i := strings.IndexFunc(name, func(c rune) bool { return '0' <= c && c <= '9' }); i > 0 {
		name = name[:i-1]
	}
	return name
}

// file reads the schemas of a file. place is what errors call it.
func (r *sourceReader) file(files fs.FS, name, place, module string) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSchemaSize+1))
	if err != nil {
		return err
	}
	if len(text) > maxSchemaSize {
		return &ParseError{place, 0, fmt.Sprintf("more than %d MiB is no schema", maxSchemaSize>>20)}
	}
	if !strings.HasSuffix(name, ".json") {
		text = withoutProse(text)
	}
	for {
		end := endOfSchema(text)
		m, err := Parse(place, text[:end])
		if err != nil {
			return err
		}
		r.found = append(r.found, Found{module, place, m})
		if len(bytes.TrimSpace(stripComments(text[end:]))) == 0 {
			return nil
		}
		blank(text, 0, end) // so that lines stay
	}
}

// endOfSchema is the offset behind the first schema in a text.
func endOfSchema(text []byte) int {
	clean := stripComments(text)
	depth := 0
	for i := 0; i < len(clean); i++ {
		switch clean[i] {
		case '"':
			i = endOfString(clean, i) - 1
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// withoutProse puts spaces in place of what stands around the schemas of a page that was saved as text.
func withoutProse(text []byte) []byte {
	for i := 0; i < len(text); {
		from := i + indexOr(text[i:], "{", len(text)-i)
		blank(text, i, from)
		i = from + endOfSchema(text[from:])
	}
	return text
}

// ReadRelease reads a release to compare it with another: as ReadSources does, with keys of coordinator records in the form that they have since Kafka 4.0.
// Before, they were plain data whose newest version was the record type.
func ReadRelease(source string) ([]*Message, error) {
	found, err := ReadSources(source)
	messages := make([]*Message, 0, len(found))
	for _, f := range found {
		m := f.Message
		if m.Kind == Data && strings.HasSuffix(f.Module, "-coordinator") && strings.HasSuffix(m.Name, "Key") {
			m.Kind, m.APIKey, m.ValidVersions = CoordinatorKey, m.ValidVersions.High, Versions{}
			for _, field := range m.Fields {
				field.Versions = From(0)
			}
		}
		messages = append(messages, m)
	}
	return messages, err
}

// ReadReleases notes what the index of a catalog says of releases at the messages that were found in it.
func ReadReleases(index []byte, found []Found) error {
	byName := make(map[string]*Message, len(found))
	for _, f := range found {
		byName[f.Module+"/"+f.Message.Name+".json"] = f.Message
	}
	for line := range strings.Lines(string(index)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseEntry(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return err
		}
		if m := byName[e.path]; m != nil {
			if m.Releases, err = parseReleases(e.releases); err != nil {
				return err
			}
		}
	}
	return nil
}
