package gallery

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/weights"
)

// SumsFile holds the checksums of the files beside it, as sha256sum writes and checks
// them: a line HASH  NAME for each.
const SumsFile = "SHA256SUMS"

// WriteSums writes the checksums of files of a folder to its SumsFile. Lines of
// other files that are there stay.
func WriteSums(dir string, names []string) error {
	sums, err := readSums(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if sums[name], err = weights.Digest(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return wholefile.Write(filepath.Join(dir, SumsFile), func(w io.Writer) error {
		for _, name := range slices.Sorted(maps.Keys(sums)) {
			if _, err := fmt.Fprintf(w, "%s  %s\n", sums[name], name); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkSum compares a file with the SumsFile beside it. A file that is not in it, or
// has none beside it, is taken as it is.
func checkSum(path string) error {
	sums, err := readSums(filepath.Dir(path))
	if err != nil {
		return err
	}
	want, ok := sums[filepath.Base(path)]
	if !ok {
		return nil
	}
	sum, err := weights.Digest(path)
	if err == nil && sum != want {
		err = fmt.Errorf("%s is not what %s beside it says: it is damaged, or was changed (then remove its line there)", filepath.Base(path), SumsFile)
	}
	return err
}

// readSums reads the SumsFile of a folder, which may have none.
func readSums(dir string) (map[string]string, error) {
	sums := map[string]string{}
	f, err := openRegular(filepath.Join(dir, SumsFile), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return sums, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		sum, name, ok := strings.Cut(lines.Text(), " ")
		if _, err := hex.DecodeString(sum); !ok || err != nil || len(sum) != 2*sha256.Size || len(name) < 2 {
			return nil, fmt.Errorf("%s, line %d: want a SHA-256 in hexadecimal, two blanks and the name of a file", f.Name(), n)
		}
		sums[name[1:]] = strings.ToLower(sum) // behind the blank, or * of a binary file
	}
	return sums, lines.Err()
}
