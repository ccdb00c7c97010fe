package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/vernier-ml/vernier/gallery"
)

// format is that of the state and of the rows.
const format = 1

// state says which rows count: those of a push that is not above Commit and not among Aborted,
// unless they are among Dead. To write it is one step, which all who read see as a whole: that
// is what makes a push there, and rows gone.
//
// A push has a number of its own, which Pending holds from before its first row on. If it is
// killed, whoever writes next finds the number in Pending and puts it into Aborted. It stays
// there, since a process that was taken for dead may write some rows yet.
type state struct {
	Format int `json:"format"`
	gallery.Info
	Commit  int64    `json:"commit"`
	Pending int64    `json:"pending,omitempty"`
	Aborted []int64  `json:"aborted,omitempty"`
	Unclean []int64  `json:"unclean,omitempty"` // those of Aborted whose rows are still to be deleted
	Dead    []string `json:"dead,omitempty"`    // identities of rows that are to be deleted

	dead map[string]bool // Dead, for counts
}

const (
	contentProperty = "content"
	stateID         = "76e51a1e-0000-4000-8000-000000000001"
	turnID          = "76e51a1e-0000-4000-8000-000000000002"
)

// counts reports whether a row of an identity and push counts.
func (st *state) counts(id string, push int64) bool {
	if st.dead == nil && len(st.Dead) > 0 {
		st.dead = make(map[string]bool, len(st.Dead))
		for _, id := range st.Dead {
			st.dead[id] = true
		}
	}
	return push <= st.Commit && !slices.Contains(st.Aborted, push) && !st.dead[id]
}

// pushing reports whether there are rows that do not count yet, of somebody who writes or was
// killed.
func (st *state) pushing() bool { return st.Pending > st.Commit }

// content reads an object of the second collection. It is false if there is none.
func (s *Store) content(ctx context.Context, id string, to any) (there bool, err error) {
	var o struct{ Properties struct{ Content string } }
	err = s.call(ctx, http.MethodGet, "/v1/objects/"+s.at.collection+stateSuffix+"/"+id, nil, &o)
	if err == nil {
		return true, json.Unmarshal([]byte(o.Properties.Content), to)
	}
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusUnprocessableEntity {
		// Of a collection that is not there the server says 404 or that it cannot find it.
		return false, nil
	}
	return false, err
}

// put writes an object of the second collection: with POST where it must not be there, with
// PUT where it must be.
func (s *Store) put(ctx context.Context, method, id string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	path := "/v1/objects"
	if method == http.MethodPut {
		path += "/" + s.at.collection + stateSuffix + "/" + id
	}
	return s.call(ctx, method, path, object{"class": s.at.collection + stateSuffix, "id": id, "properties": object{contentProperty: string(text)}}, nil)
}

// state reads the state, and compares whose rows there are with those that the store is for.
func (s *Store) state(ctx context.Context) (*state, error) {
	st := &state{}
	there, err := s.content(ctx, stateID, st)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	if !there {
		return nil, fmt.Errorf("%s: %w; the first rows that are put there make it", s.at.shown, gallery.ErrNoGallery)
	}
	if st.Format != format {
		return nil, fmt.Errorf("%s is of format %d, and format %d is read: use the vernier that made it, or push into another collection", s.at.shown, st.Format, format)
	}
	if s.info != (gallery.Info{}) {
		if err := st.Info.Same(s.info); err != nil {
			return nil, fmt.Errorf("%s: %w", s.at.shown, err)
		}
	}
	return st, nil
}

// create makes the collections and the state, if they are not there.
func (s *Store) create(ctx context.Context) error {
	_, err := s.state(ctx)
	if !errors.Is(err, gallery.ErrNoGallery) {
		return err
	}
	if err := s.createCollections(ctx); err != nil {
		return s.explain(ctx, err)
	}
	err = s.put(ctx, http.MethodPost, stateID, state{Format: format, Info: s.info})
	if err != nil && statusOf(err) != http.StatusUnprocessableEntity { // another process was faster
		return s.explain(ctx, err)
	}
	_, err = s.state(ctx)
	return err
}
