package page

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vernier-ml/vernier/serve/api"
)

// fullDisk is a file that takes a few bytes more.
type fullDisk struct {
	*os.File
	room int
}

func (f *fullDisk) Write(b []byte) (int, error) {
	n, err := f.File.Write(b[:min(len(b), f.room)])
	if f.room -= n; err == nil && n < len(b) {
		err = &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return n, err
}

func markLines(t *testing.T, path string) []Mark {
	t.Helper()
	text, err := os.ReadFile(path)
	fatal(t, err)
	var marks []Mark
	for line := range strings.Lines(string(text)) {
		var m Mark
		fatal(t, json.Unmarshal([]byte(line), &m))
		marks = append(marks, m)
	}
	return marks
}

func TestAMarkThatDoesNotFitIsTakenBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marks.jsonl")
	room := 1 << 20
	f := &markFile{path: path, open: func(path string) (appended, error) {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
		return &fullDisk{file, room}, err
	}}
	fatal(t, f.add(Mark{Key: "1"}))
	room = 20
	if err := f.add(Mark{Key: "2"}); !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	if got := markLines(t, path); len(got) != 1 {
		t.Errorf("%d lines after a full disk", len(got))
	}
	room = 1 << 20
	fatal(t, f.add(Mark{Key: "3"}))
	if got := markLines(t, path); len(got) != 2 || got[0].Key != "1" || got[1].Key != "3" {
		t.Errorf("%+v", got)
	}
}

func TestALastLineThatIsNotWholeIsCutAndSaid(t *testing.T) {
	for name, c := range map[string]struct {
		text, kept, remark, fault string
	}{
		"whole":             {"{\"row\":1}\n", "{\"row\":1}\n", "", ""},
		"torn":              {"{\"row\":1}\n{\"row\":", "{\"row\":1}\n", "its 7 bytes were cut off", ""},
		"only a torn one":   {"{\"row\":", "", "its 7 bytes were cut off", ""},
		"no end of line":    {"{\"row\":1}", "{\"row\":1}\n", "", ""},
		"empty":             {"", "", "", ""},
		"another text file": {"dear diary", "dear diary", "", "does not end with marks"},
	} {
		path := filepath.Join(t.TempDir(), "marks.jsonl")
		fatal(t, os.WriteFile(path, []byte(c.text), 0o644))
		s := New(path, "ab")
		got, err := os.ReadFile(path)
		fatal(t, err)
		if remarks := strings.Join(s.Remarks(), "\n"); string(got) != c.kept || !strings.Contains(remarks, c.remark+c.fault) || (remarks == "") != (c.remark+c.fault == "") || !strings.Contains(s.NoMarks(), c.fault) {
			t.Errorf("%s: %q, said %q", name, got, remarks)
		}
	}
}

func TestMarksThatCannotBeKeptAreSaidAtTheStart(t *testing.T) {
	folder := t.TempDir() // a folder is no file, whoever asks
	p := New(folder, "ab")
	if len(p.Remarks()) != 1 || !strings.Contains(p.Remarks()[0], folder+": marks cannot be kept: is a directory") {
		t.Errorf("%q", p.Remarks())
	}
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(method, path, strings.NewReader(body)), httptest.NewRecorder()
		r.Header.Set("Content-Type", "application/json")
		p.Handlers()[method+" "+path](w, r)
		return w
	}
	var about struct {
		NoMarks string `json:"no_marks"`
	}
	w := ask("GET", "/about", "")
	if err := json.Unmarshal(w.Body.Bytes(), &about); err != nil || about.NoMarks != "marks cannot be kept: is a directory" {
		t.Errorf("%s: %v", w.Body, err)
	}
	p.Remember(api.Result{Query: "q", Neighbors: []api.Neighbor{{Key: "k"}}})
	w = ask("POST", "/mark", `{"query":"q","key":"k","right":true}`)
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "the mark was not kept: is a directory") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// To open a named pipe would wait until somebody reads it.
func TestMarksAreKeptInRegularFilesAlone(t *testing.T) {
	f := &markFile{path: os.DevNull, open: openAppended}
	if _, err := f.check(); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a device: %v", err)
	}
}

func TestNothingIsCreatedBeforeTheFirstMark(t *testing.T) {
	marks := filepath.Join(t.TempDir(), "marks.jsonl")
	p := New(marks, "ab")
	if _, err := os.Stat(marks); !errors.Is(err, os.ErrNotExist) || p.NoMarks() != "" {
		t.Errorf("%v, %q", err, p.NoMarks())
	}
}
