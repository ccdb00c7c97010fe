package data

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFingerprintNoticesWhatChangedButNotThatTimePassed(t *testing.T) {
	dir := classes(t, []string{"a", "b"}, 3).folder(t)
	set := mustOpen(t, "folder:"+dir)
	first := set.Fingerprint()
	file := filepath.Join(dir, filepath.FromSlash(set.Items[1].Path))
	if err := os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if got := mustOpen(t, "folder:"+dir).Fingerprint(); got != first {
		t.Error("another time of change gives another fingerprint")
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("more"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	grown := mustOpen(t, "folder:"+dir).Fingerprint()
	if grown == first {
		t.Error("a file that grew gives the same fingerprint")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := mustOpen(t, "folder:"+dir).Fingerprint(); got == first || got == grown {
		t.Error("a file that went gives the same fingerprint")
	}
	if got := set.Fingerprint(); got == first {
		t.Error("a file that went under an open set gives the same fingerprint")
	}
}
