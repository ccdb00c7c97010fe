package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// markFile is appended to, a line at a time. What is not a whole line is never
// left in it.
type markFile struct {
	mu   sync.Mutex
	path string
	open func(path string) (appended, error)
}

// appended is what is needed of an *os.File.
type appended interface {
	io.ReaderAt
	io.WriteCloser
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
}

func openAppended(path string) (appended, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errors.New("it is not a regular file")
	}
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
}

// check tries whether marks can be added, and makes the last line whole, or cuts
// it. remark says what was changed.
func (f *markFile) check() (remark string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, missing := os.Stat(f.path)
	file, err := f.open(f.path)
	if err != nil {
		return "", bare(err)
	}
	_, cut, err := mend(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", bare(err)
	}
	if cut > 0 {
		remark = fmt.Sprintf("the last line of the marks was not whole: its %d bytes were cut off", cut)
	}
	if errors.Is(missing, fs.ErrNotExist) { // nothing is marked yet
		err = os.Remove(f.path)
	}
	return remark, bare(err)
}

// mend makes a file end with a whole line, and returns its size and how many bytes
// that took away.
func mend(file appended) (size, cut int64, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, 0, err
	}
	const longest = 1 << 20
	size = info.Size()
	tail := make([]byte, min(size, longest))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil {
		return 0, 0, err
	}
	whole := bytes.LastIndexByte(tail, '\n') + 1
	last := tail[whole:]
	switch {
	case len(last) == 0:
		return size, 0, nil
	case json.Valid(last): // somebody's editor left the end of the line out
		_, err := file.Write([]byte{'\n'})
		return size + 1, 0, err
	case len(last) == longest || !bytes.HasPrefix(last, []byte("{")):
		return 0, 0, errors.New("the file does not end with marks, which are JSON objects, one a line")
	}
	size -= int64(len(last))
	return size, int64(len(last)), errors.Join(file.Truncate(size), file.Sync())
}

// add appends a mark. If that fails, the file is as it was.
func (f *markFile) add(m Mark) (err error) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := f.open(f.path)
	if err != nil {
		return bare(err)
	}
	size, _, err := mend(file)
	if err == nil {
		if _, err = file.Write(line.Bytes()); err == nil {
			err = file.Sync()
		}
		if err != nil {
			err = errors.Join(bare(err), bare(file.Truncate(size)), bare(file.Sync()))
		}
	}
	return errors.Join(bare(err), bare(file.Close()))
}

// bare drops the path that package os puts into its errors: the page need not know it.
func bare(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}
