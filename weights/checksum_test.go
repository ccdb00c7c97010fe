package weights

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEveryBitOfACheckedFileCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	meta := map[string]string{"format": "pt", "epoch": "3"}
	if err := WriteChecked(path, sample(t), meta); err != nil {
		t.Fatal(err)
	}
	if len(meta) != 2 {
		t.Errorf("the caller's metadata became %v", meta)
	}
	if has, err := reopen(t, path).Verify(); !has || err != nil {
		t.Fatalf("whole: checksum %v, %v", has, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key := bytes.Index(text, []byte(ChecksumKey))
	places := []int{bytes.Index(text, []byte(`"epoch":"3"`)) + 9, key + len(ChecksumKey) + 5, len(text) - 1}
	for at := len(text) - 100; at < len(text); at += 7 {
		places = append(places, at)
	}
	for _, at := range places {
		spoilt := slices.Clone(text)
		spoilt[at] ^= 1
		if err := os.WriteFile(path, spoilt, 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err == nil {
			_, err = f.Verify()
			f.Close()
		}
		if err == nil {
			t.Errorf("byte %d of %d: not noticed", at, len(text))
		}
	}
}

func TestTheChecksumIsOfContentsNotOfTheirOrder(t *testing.T) {
	ts := sample(t)
	a, err := Checksum(ts, map[string]string{"a": "1", ChecksumKey: "x"})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(ts)
	b, err := Checksum(ts, map[string]string{"a": "1"})
	if err != nil || a != b {
		t.Errorf("%s and %s, %v", a, b, err)
	}
	if c, err := Checksum(ts, map[string]string{"a": "2"}); err != nil || a == c {
		t.Errorf("other metadata: %s, %v", c, err)
	}
}

func TestFilesWithoutAChecksumAreTakenAsTheyAre(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	if err := WriteSafetensors(path, sample(t), map[string]string{"format": "pt"}); err != nil {
		t.Fatal(err)
	}
	if has, err := reopen(t, path).Verify(); has || err != nil {
		t.Errorf("checksum %v, %v", has, err)
	}
	if err := WriteSafetensors(path, sample(t), map[string]string{ChecksumKey: "00"}); err != nil {
		t.Fatal(err)
	}
	if has, err := reopen(t, path).Verify(); !has || err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("checksum %v, %v", has, err)
	}
}
