package render

import (
	"strings"
	"testing"
)

// A reader may take any lines out of a coloured tree: a colour ends on its line, also where an explanation is broken over two. Without
// its colours the tree is the plain one.
func TestColoursEndOnTheirLine(t *testing.T) {
	ask := request(unhex(t, `00000020 0012 0003 00000001 ffff 00  12 6170616368652d6b61666b612d6a617661 02 31 00`)) // ApiVersions v3 by apache-kafka-java 1
	coloured, plain := tree(Options{Color: true}, ask), tree(Options{}, ask)
	if got := escapes.ReplaceAllString(coloured, ""); got != plain {
		t.Errorf("without its colours:\n%s\nplain:\n%s", got, plain)
	}
	colours := 0
	for _, line := range strings.Split(coloured, "\n") {
		colours += strings.Count(line, "\x1b[2m")
		if on, off := strings.Count(line, "\x1b[2m"), strings.Count(line, "\x1b[22m"); on > off {
			t.Errorf("%d colours begin on %q and %d end", on, line, off)
		}
	}
	if colours == 0 || !strings.Contains(plain, "library that the client") {
		t.Errorf("%d explanations are coloured:\n%s", colours, plain)
	}
	if strings.Contains(plain, "library that the client is built on, such as apache-kafka-java") {
		t.Errorf("no explanation was broken:\n%s", plain)
	}
}
