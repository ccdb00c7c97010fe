package weaviate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/vernier-ml/vernier/gallery"
)

// row is a row as Weaviate has it.
type row struct {
	Key        string `json:"key"`
	Path       string `json:"path"`
	Class      string `json:"label"`
	Push       int64  `json:"push"`
	Additional struct {
		ID     string    `json:"id"`
		Vector []float32 `json:"vector"`
	} `json:"_additional"`
}

// hash is what a text is filtered by.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// identity is that of the row of a key and a push, as a UUID.
func identity(key string, push int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", push, key))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8, of RFC 9562: made by a rule of one's own
	x := hex.EncodeToString(sum[:16])
	return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
}

// objectOf is a row of a table for Weaviate.
func (s *Store) objectOf(t *gallery.Table, i int, push int64) object {
	key, path, class := t.Keys[i], t.Path(i), t.Class(i)
	return object{
		"class": s.at.collection, "id": identity(key, push), "vector": t.Row(i),
		"properties": object{
			keyProperty: key, pathProperty: path, classProperty: class, pushProperty: push,
			keyProperty + hashSuffix: hash(key), pathProperty + hashSuffix: hash(path), classProperty + hashSuffix: hash(class),
		},
	}
}

// Bounds of requests.
const (
	maxResults  = 10_000  // that Weaviate returns, unless it is configured otherwise
	batchNumber = 200_000 // numbers of the rows that are put at a time
	batchRows   = 250     // a node that is busy takes no more in the time that another one waits for it
	batchNames  = 500     // of a filter
	tries       = 5       // of rows that a node had no time for
)

// insert puts rows of a push.
func (s *Store) insert(ctx context.Context, t *gallery.Table, push int64) error {
	size := max(1, min(batchRows, batchNumber/max(1, t.H)))
	for from := 0; from < t.N; from += size {
		var rows []int
		for i := from; i < min(from+size, t.N); i++ {
			rows = append(rows, i)
		}
		if err := s.insertSome(ctx, t, rows, push); err != nil {
			return err
		}
	}
	return nil
}

// insertSome puts some rows, and those again that a node had no time for.
func (s *Store) insertSome(ctx context.Context, t *gallery.Table, rows []int, push int64) error {
	for try := 1; ; try++ {
		failed, says, err := s.insertOnce(ctx, t, rows, push)
		if err != nil || len(failed) == 0 {
			return err
		}
		if try == tries {
			return fmt.Errorf("the server has not taken %d of %d rows: %s", len(failed), len(rows), says)
		}
		if err := sleep(ctx, time.Duration(try)*time.Second); err != nil {
			return err
		}
		rows = failed
	}
}

func (s *Store) insertOnce(ctx context.Context, t *gallery.Table, rows []int, push int64) (failed []int, says string, err error) {
	batch := make([]object, len(rows))
	for i, row := range rows {
		batch[i] = s.objectOf(t, row, push)
	}
	var results []struct {
		Result struct {
			Status string
			Errors struct{ Error []struct{ Message string } }
		}
	}
	if err := s.call(ctx, http.MethodPost, "/v1/batch/objects", object{"objects": batch}, &results); err != nil {
		return nil, "", err
	}
	if len(results) != len(batch) {
		return nil, "", fmt.Errorf("the server has answered for %d of %d rows", len(results), len(batch))
	}
	for i, r := range results {
		if r.Result.Status != "SUCCESS" {
			failed, says = append(failed, rows[i]), r.Result.Status
			for _, e := range r.Result.Errors.Error {
				says += ": " + e.Message
			}
		}
	}
	return failed, says, nil
}

// where is a condition of GraphQL and REST.
type where struct {
	Path       []string `json:"path,omitempty"`
	Operator   string   `json:"operator"`
	ValueText  string   `json:"valueText,omitempty"`
	ValueTexts []string `json:"valueTextArray,omitempty"`
	ValueInt   *int64   `json:"valueInt,omitempty"`
	ValueInts  []int64  `json:"valueIntArray,omitempty"`
	Operands   []where  `json:"operands,omitempty"`
}

// among lets through rows of which a property has one of some texts.
func among(property string, texts []string) where {
	hashes := make([]string, len(texts))
	for i, text := range texts {
		hashes[i] = hash(text)
	}
	return where{Path: []string{property + hashSuffix}, Operator: "ContainsAny", ValueTexts: hashes}
}

// conditions are those of a filter.
func conditions(f gallery.Filter) (all []where) {
	for _, c := range []struct {
		property string
		list     []string
	}{{keyProperty, f.Keys}, {pathProperty, f.Paths}, {classProperty, f.Classes}} {
		if len(c.list) > 0 {
			all = append(all, among(c.property, c.list))
		}
	}
	return all
}

// settled lets through rows that count, but for those among Dead.
func (st *state) settled() (all []where) {
	if st.pushing() {
		all = append(all, where{Path: []string{pushProperty}, Operator: "LessThanEqual", ValueInt: &st.Commit})
	}
	for i := range st.Unclean {
		all = append(all, where{Path: []string{pushProperty}, Operator: "NotEqual", ValueInt: &st.Unclean[i]})
	}
	return all
}

// ofPushes lets through the rows of some pushes.
func ofPushes(numbers ...int64) where {
	return where{Path: []string{pushProperty}, Operator: "ContainsAny", ValueInts: numbers}
}

// graphQL is a condition as an argument of a query, empty without any.
func graphQL(all []where) string {
	var of func(w where) string
	of = func(w where) string {
		quoted := func(v any) string {
			text, err := json.Marshal(v)
			if err != nil {
				return "null" // texts and whole numbers always have JSON
			}
			return string(text)
		}
		if len(w.Operands) > 0 {
			parts := make([]string, len(w.Operands))
			for i, o := range w.Operands {
				parts[i] = of(o)
			}
			return fmt.Sprintf("{operator: %s, operands: [%s]}", w.Operator, strings.Join(parts, ", "))
		}
		value := ""
		switch {
		case w.ValueTexts != nil:
			value = "valueText: " + quoted(w.ValueTexts)
		case w.ValueInt != nil:
			value = "valueInt: " + quoted(*w.ValueInt)
		case w.ValueInts != nil:
			value = "valueInt: " + quoted(w.ValueInts)
		}
		return fmt.Sprintf("{path: %s, operator: %s, %s}", quoted(w.Path), w.Operator, value)
	}
	switch len(all) {
	case 0:
		return ""
	case 1:
		return "where: " + of(all[0])
	}
	return "where: " + of(where{Operator: "And", Operands: all})
}

// errNodeAway says that a node has not answered to the one that was asked.
var errNodeAway = errors.New("a node of the cluster does not answer in time")

// query asks by GraphQL and decodes what is under data.
func (s *Store) query(ctx context.Context, text string, data any) error {
	answer := struct {
		Data   any
		Errors []struct{ Message string }
	}{Data: data}
	if err := s.call(ctx, http.MethodPost, "/v1/graphql", object{"query": text}, &answer); err != nil {
		return err
	}
	if len(answer.Errors) == 0 {
		return nil
	}
	err := errors.New("Weaviate says: " + answer.Errors[0].Message)
	if strings.Contains(answer.Errors[0].Message, "connect: ") { // a node does not reach another one in its time
		return fmt.Errorf("%w: %w", errNodeAway, err)
	}
	return err
}

const (
	textFields = keyProperty + " " + pathProperty + " " + classProperty + " " + pushProperty + " _additional { id }"
	allFields  = keyProperty + " " + pathProperty + " " + classProperty + " " + pushProperty + " _additional { id vector }"
)

// get lists the rows that fit conditions, of which there must not be more than maxResults.
func (s *Store) get(ctx context.Context, all []where, fields string) ([]row, error) {
	var data struct{ Get map[string][]row }
	err := s.query(ctx, fmt.Sprintf("{ Get { %s(%s, limit: %d) { %s } } }", s.at.collection, graphQL(all), maxResults, fields), &data)
	return data.Get[s.at.collection], err
}

// count counts the rows that fit conditions.
func (s *Store) count(ctx context.Context, all []where) (int, error) {
	arguments := ""
	if text := graphQL(all); text != "" {
		arguments = "(" + text + ")"
	}
	var data struct {
		Aggregate map[string][]struct{ Meta struct{ Count int } }
	}
	err := s.query(ctx, fmt.Sprintf("{ Aggregate { %s%s { meta { count } } } }", s.at.collection, arguments), &data)
	if err != nil || len(data.Aggregate[s.at.collection]) == 0 {
		return 0, err
	}
	return data.Aggregate[s.at.collection][0].Meta.Count, nil
}

// deleteRows deletes the rows that fit a condition.
func (s *Store) deleteRows(ctx context.Context, w where) error {
	for {
		var answer struct {
			Results struct{ Matches, Successful, Failed int }
		}
		body := object{"match": object{"class": s.at.collection, "where": w}, "output": "minimal"}
		if err := s.call(ctx, http.MethodDelete, "/v1/batch/objects", body, &answer); err != nil {
			return err
		}
		switch r := answer.Results; {
		case r.Failed > 0:
			return fmt.Errorf("the server has not deleted %d of %d rows", r.Failed, r.Matches)
		case r.Successful == 0:
			return nil
		}
	}
}

// deleteIDs deletes rows by their identities.
func (s *Store) deleteIDs(ctx context.Context, ids []string) error {
	for len(ids) > 0 {
		n := min(len(ids), batchNames)
		if err := s.deleteRows(ctx, where{Path: []string{"id"}, Operator: "ContainsAny", ValueTexts: ids[:n]}); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}
