package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

const (
	kafkaMessages = "../../../shared/kafka-messages"
	committed     = "../catalog"
)

// needKafkaMessages skips the test where Kafka's schema files are absent; where KDISSECT_REQUIRE_SHARED is set, that is a failure.
func needKafkaMessages(t *testing.T) {
	t.Helper()
	_, err := os.Stat(kafkaMessages)
	switch {
	case err == nil:
	case os.Getenv("KDISSECT_REQUIRE_SHARED") != "":
		t.Fatal(err)
	default:
		t.Skip("Kafka's schema files are not here: ", err)
	}
}

// filesOf reads all files below a directory.
func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// compareCatalogs fails for each file that differs.
func compareCatalogs(t *testing.T, want, got map[string][]byte) {
	t.Helper()
	if len(want) < 280 {
		t.Fatalf("only %d files", len(want))
	}
	for name, text := range want {
		if other, ok := got[name]; !ok {
			t.Errorf("%s is missing", name)
		} else if !bytes.Equal(text, other) {
			t.Errorf("%s differs", name)
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("%s is one too many", name)
		}
	}
}

// The committed catalog is what the import makes of Kafka's releases, byte for byte.
func TestImportMakesTheCatalog(t *testing.T) {
	needKafkaMessages(t)
	dir := t.TempDir()
	if err := run(dir, []string{filepath.Join(kafkaMessages, "3.9.1"), filepath.Join(kafkaMessages, "4.4.0")}); err != nil {
		t.Fatal(err)
	}
	compareCatalogs(t, filesOf(t, committed), filesOf(t, dir))
}

// To import the catalog itself changes nothing, nor does the newest release that is already in it.
func TestImportIsIdempotent(t *testing.T) {
	want := filesOf(t, committed)
	dir := t.TempDir()
	if err := run(dir, []string{committed}); err != nil {
		t.Fatal(err)
	}
	compareCatalogs(t, want, filesOf(t, dir))
	if err := run(dir, []string{dir, dir}); err != nil {
		t.Fatal(err)
	}
	compareCatalogs(t, want, filesOf(t, dir))
	needKafkaMessages(t)
	if err := run(dir, []string{dir, filepath.Join(kafkaMessages, "4.4.0")}); err != nil {
		t.Fatal(err)
	}
	compareCatalogs(t, want, filesOf(t, dir))
}

// A file of a message that is gone is removed, other files are left.
func TestImportRemovesWhatIsGone(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "clients"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"clients/GoneRequest.json", "clients/notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(dir, []string{committed}); err != nil {
		t.Fatal(err)
	}
	got := filesOf(t, dir)
	if got["clients/GoneRequest.json"] != nil || got["clients/notes.txt"] == nil {
		t.Error("the wrong files are there")
	}
}

func TestImportErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	if err := os.MkdirAll(filepath.Join(bad, "clients"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bad, "clients", "X.json"), []byte("{\n\"type\": 5}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]string{
		"a directory without schemas": t.TempDir(),
		"nothing":                     filepath.Join(dir, "absent"),
		"a JAR that is none":          filepath.Join(bad, "clients", "X.jar"),
		"a schema that is none":       bad,
	} {
		if err := run(filepath.Join(dir, "out"), []string{source}); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
