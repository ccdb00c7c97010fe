package gallery

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// RowKeys returns the key of every row, by which a store knows it again. A row of Keys that
// is empty, and each without Keys, has as its key "path:" and its path; without a path,
// "row:" and the SHA-256 of its numbers, with #2, #3 and so on behind it for equal rows of
// the table.
func (t *Table) RowKeys() []string {
	keys := make([]string, t.N)
	equal := map[string]int{}
	for i := range keys {
		switch {
		case t.Keys != nil && t.Keys[i] != "":
			keys[i] = t.Keys[i]
		case t.Path(i) != "":
			keys[i] = "path:" + t.Path(i)
		default:
			sum := sha256.Sum256(floatBytes(t.Row(i)))
			keys[i] = "row:" + hex.EncodeToString(sum[:])
			if equal[keys[i]]++; equal[keys[i]] > 1 {
				keys[i] = fmt.Sprintf("%s#%d", keys[i], equal[keys[i]])
			}
		}
	}
	return keys
}
