package data

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vernier-ml/vernier/data/internal/float16"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/internal/disk"
)

// featureName is where features lie. Files of one owner take each other's place.
type featureName struct{ dir, owner, key string }

func (n featureName) file() string       { return filepath.Join(n.dir, n.owner+"-"+n.key+".features") }
func (n featureName) unfinished() string { return n.file() + ".part" }
func (n featureName) lock() string       { return filepath.Join(n.dir, n.owner+".lock") }

// featureBuild is the making of a file.
type featureBuild struct {
	set      *Set
	pipeline *transform.Pipeline
	o        FeatureOptions
	items    []int // a row each
	key      [sha256.Size]byte
	name     featureName
	built    int
}

func (b *featureBuild) open() (*Features, error) {
	return openFeatures(b.name.file(), b.o.head(b.key, len(b.items)), len(b.items), b.o)
}

// find opens a finished file of which every row agrees with its checksum.
func (b *featureBuild) find(ctx context.Context) (*Features, error) {
	f, err := b.open()
	if err != nil {
		return nil, err
	}
	for i := range f.sound {
		if err = ctx.Err(); err == nil && !f.whole(i) {
			err = errDamaged
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		if b.o.Checking != nil && (i%1024 == 1023 || i+1 == len(f.sound)) {
			b.o.Checking(i+1, len(f.sound))
		}
	}
	return f, nil
}

// make computes what is missing, unless another process does.
func (b *featureBuild) make(ctx context.Context) error {
	if err := os.MkdirAll(b.o.Dir, 0o777); err != nil {
		return err
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if f, err := b.find(ctx); err == nil {
		return f.Close() // another process was faster
	}
	b.clean()
	f, err := os.OpenFile(b.name.unfinished(), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	done, err := b.resume(f)
	if err != nil {
		return err
	}
	if err := b.room(done); err != nil {
		return err
	}
	if err := b.compute(ctx, f, done); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Rename(b.name.unfinished(), b.name.file())
}

// lock waits for a process that computes the same, and shows how far that is.
func (b *featureBuild) lock(ctx context.Context) (unlock func(), err error) {
	for {
		try, cancel := context.WithTimeoutCause(ctx, 100*time.Millisecond, errBusy)
		unlock, err = disk.Lock(try, b.name.lock())
		cancel()
		if !errors.Is(err, errBusy) {
			return unlock, err
		}
		if info, err := os.Stat(b.name.unfinished()); err == nil {
			b.progress(int((info.Size() - featureHead) / b.o.rowBytes()))
		}
	}
}

var errBusy = errors.New("another process is at it")

// progress shows the number of finished rows.
func (b *featureBuild) progress(done int) {
	if b.o.Progress != nil && done < len(b.items) {
		b.o.Progress(max(done, 0), len(b.items))
	}
}

// clean removes the files of the same owner that were made from other images. A
// mapping outlives its name.
func (b *featureBuild) clean() {
	entries, err := os.ReadDir(b.o.Dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if rest, ours := strings.CutPrefix(e.Name(), b.name.owner+"-"); ours && !strings.HasPrefix(rest, b.name.key) {
			os.Remove(filepath.Join(b.o.Dir, e.Name()))
		}
	}
}

// resume returns the number of whole rows in an unfinished file and cuts off what
// follows them.
func (b *featureBuild) resume(f *os.File) (done int, err error) {
	head := b.o.head(b.key, len(b.items))
	have := make([]byte, featureHead)
	if _, err := io.ReadFull(f, have); err != nil || !bytes.Equal(have, head) {
		if err := f.Truncate(0); err != nil {
			return 0, err
		}
		_, err := f.WriteAt(head, 0)
		if err == nil {
			_, err = f.Seek(featureHead, io.SeekStart)
		}
		return 0, err
	}
	row := make([]byte, b.o.rowBytes())
	for done < len(b.items) {
		if _, err := io.ReadFull(f, row); err != nil {
			break // the rest is missing or cut short
		}
		if crc32.Checksum(row[:len(row)-4], castagnoli()) != binary.LittleEndian.Uint32(row[len(row)-4:]) {
			break
		}
		done++
	}
	end := featureHead + int64(done)*b.o.rowBytes()
	if err := f.Truncate(end); err != nil {
		return 0, err
	}
	_, err = f.Seek(end, io.SeekStart)
	return done, err
}

// room refuses to begin what the disk cannot hold, with a twentieth of it to spare.
func (b *featureBuild) room(done int) error {
	free, err := disk.Free(b.o.Dir)
	if err != nil {
		return err
	}
	need := int64(len(b.items)-done) * b.o.rowBytes()
	if need > free-free/20 {
		return fmt.Errorf("%w: features of %v of %d images take %s more, %s has %s left", ErrNoRoom, b.o.Shape, len(b.items)-done, disk.Size(need), b.o.Dir, disk.Size(free))
	}
	return nil
}

// compute appends the rows from number done on.
func (b *featureBuild) compute(ctx context.Context, f *os.File, done int) error {
	if done == len(b.items) {
		return nil
	}
	left := b.set.Select(b.set.Name, b.items[done:])
	loader, err := NewLoader(left, b.pipeline, LoaderOptions{Workers: b.o.Workers, MaxBad: len(left.Items), CacheBytes: -1})
	if err != nil {
		return err
	}
	var numbers []float32
	var rows []byte
	next := 0 // item of left that is to be written
	one := b.o.Shape[0] * b.o.Shape[1] * b.o.Shape[2]
	missing := make([]float32, one)
	write := func() error {
		_, err := f.Write(rows)
		rows = rows[:0]
		b.built = next
		b.progress(done + next)
		return err
	}
	for batch, err := range loader.All(ctx, b.o.Batch) {
		if err != nil {
			return err
		}
		if numbers, err = b.o.Compute(numbers[:0], batch.Images); err != nil {
			return err
		}
		if len(numbers) != one*len(batch.Items) {
			return fmt.Errorf("%d numbers were computed for %d images, want %d each", len(numbers), len(batch.Items), one)
		}
		for k, item := range batch.Items {
			for ; next < item; next++ {
				rows, _ = b.o.appendRow(rows, missing, featureBad)
			}
			if rows, err = b.o.appendRow(rows, numbers[k*one:(k+1)*one], featureThere); err != nil {
				return &ImageError{left.Where(item), err}
			}
			next++
		}
		batch.Recycle()
		if err := write(); err != nil {
			return err
		}
	}
	for ; next < len(left.Items); next++ {
		rows, _ = b.o.appendRow(rows, missing, featureBad)
	}
	if err := write(); err != nil {
		return err
	}
	if b.o.Progress != nil {
		b.o.Progress(len(b.items), len(b.items))
	}
	return nil
}

// appendRow writes a row as it stands in the file.
func (o FeatureOptions) appendRow(b []byte, numbers []float32, state uint32) ([]byte, error) {
	start := len(b)
	for _, v := range numbers {
		magnitude := math.Abs(float64(v))
		switch {
		case !(magnitude <= math.MaxFloat32):
			return b, fmt.Errorf("its features hold %v", v)
		case !o.Half:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		case magnitude > float16.Max:
			return b, fmt.Errorf("its features hold %v, more than 16 bits can (%d): keep them as fp32", v, float16.Max)
		default:
			b = binary.LittleEndian.AppendUint16(b, float16.Round(v))
		}
	}
	b = binary.LittleEndian.AppendUint32(b, state)
	return binary.LittleEndian.AppendUint32(b, checksum(b[start:])), nil
}
