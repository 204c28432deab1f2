package main

import "testing"

func TestReplaceFigures(t *testing.T) {
	got, err := replaceFigures("# Speed\n"+beginMark+"old\n"+endMark+"More.\n", "\n1 s\n")
	if want := "# Speed\n" + beginMark + "\n1 s\n\n" + endMark + "More.\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"", beginMark, endMark + beginMark} {
		if _, err := replaceFigures(text, "1 s"); err == nil {
			t.Errorf("no error of %q", text)
		}
	}
}
