package gallery

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/sums"
)

// parts lists the files that are read with a file of embeddings, itself first. Of the
// others each may be missing.
func parts(path string) []string {
	list := []string{path}
	exported := strings.HasPrefix(filepath.Base(path), embeddingsName+".")
	format := ending(path)
	if format == "npy" {
		list = append(list, beside(path, labelsName), beside(path, pathsName))
		if exported {
			list = append(list, filepath.Join(filepath.Dir(path), ClassesFile))
		}
	}
	if exported && (format == "npy" || format == "csv") {
		list = append(list, filepath.Join(filepath.Dir(path), DescriptionFile))
	}
	return list
}

// checkSums compares what is read with a file with the checksums beside it. With all, so
// it does with whatever else is there of an export.
func checkSums(path string, all bool) error {
	dir := filepath.Dir(path)
	folder, err := sums.Read(filepath.Join(dir, sums.FolderFile))
	if err != nil {
		return err
	}
	single, err := sums.Read(sums.Beside(path))
	if err != nil {
		return err
	}
	read := parts(path)
	for _, part := range read {
		for _, s := range []sums.Sums{folder, single} {
			if err := s.Check(filepath.Base(part)); err != nil {
				return err
			}
		}
	}
	if !all {
		return nil
	}
	for _, name := range folder.Names() {
		part := filepath.Join(dir, name)
		if _, err := os.Stat(part); err != nil || name != filepath.Base(name) || slices.Contains(read, part) {
			continue // what is not read may be removed
		}
		if err := folder.Check(name); err != nil {
			return err
		}
	}
	return nil
}

// WriteSigned is WriteAs, and leaves the checksums of what it writes beside it, in
// path.sha256.
func WriteSigned(path, format string, t *Table) error {
	return sums.Sign(path, func() ([]string, error) {
		names := []string{filepath.Base(path)}
		if format == "npy" && t.Labels != nil {
			names = append(names, filepath.Base(beside(path, labelsName)))
		}
		if format == "npy" && t.Paths != nil {
			names = append(names, filepath.Base(beside(path, pathsName)))
		}
		return names, WriteAs(path, format, t)
	})
}
