package weaviate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/vernier-ml/vernier/gallery"
)

// Upsert implements gallery.Store: the rows count from one write of the state on.
func (s *Store) Upsert(ctx context.Context, rows *gallery.Table) (did gallery.Changes, err error) {
	if rows.N == 0 {
		return did, nil
	}
	t, repeated, err := s.distinct(rows)
	if err != nil {
		return did, fmt.Errorf("%s: %w", s.at.shown, err)
	}
	if err := s.create(ctx); err != nil {
		return did, err
	}
	err = s.write(ctx, func(ctx context.Context, st *state, mine func() error) error {
		have, ids, err := s.conflicts(ctx, st, t)
		if err != nil {
			return err
		}
		add, remove, changes, err := gallery.Merge(have, t)
		if err != nil || add.N == 0 {
			did = changes
			return err
		}
		dead := make([]string, len(remove))
		for i, row := range remove {
			dead[i] = ids[row]
		}
		if err := s.push(ctx, st, add, dead, mine); err != nil {
			return err
		}
		did = changes
		return nil
	})
	if err != nil {
		return gallery.Changes{}, err
	}
	did.Repeated = repeated
	return did, nil
}

// distinct checks rows, and leaves those that count.
func (s *Store) distinct(rows *gallery.Table) (*gallery.Table, int, error) {
	if err := rows.Validate(); err != nil {
		return nil, 0, err
	}
	if rows.H != s.info.Dim {
		return nil, 0, fmt.Errorf("rows of %d numbers, the model makes %d", rows.H, s.info.Dim)
	}
	t, repeated, err := gallery.Distinct(rows)
	if err != nil {
		return nil, 0, err
	}
	for i, key := range t.Keys {
		for _, text := range []string{key, t.Path(i), t.Class(i)} {
			if !utf8.ValidString(text) {
				return nil, 0, fmt.Errorf("row %d: %q is not valid UTF-8", i, text)
			}
		}
	}
	return t, repeated, nil
}

// conflicts are the rows that count and have a key or path of a table's, and their identities.
func (s *Store) conflicts(ctx context.Context, st *state, t *gallery.Table) (have *gallery.Table, ids []string, err error) {
	var paths []string
	for i := range t.N {
		if path := t.Path(i); path != "" {
			paths = append(paths, path)
		}
	}
	have = s.none()
	seen := map[string]bool{}
	for _, f := range []gallery.Filter{{Keys: t.Keys}, {Paths: paths}} {
		if f.Empty() {
			continue
		}
		err := s.named(ctx, st, f, allFields, func(r row) error {
			if !seen[r.Additional.ID] {
				seen[r.Additional.ID] = true
				ids = append(ids, r.Additional.ID)
				return s.add(have, r)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return have, ids, nil
}

// push puts rows in the place of dead ones.
func (s *Store) push(ctx context.Context, st *state, add *gallery.Table, dead []string, mine func() error) error {
	before := *st
	number := max(st.Commit, st.Pending) + 1
	st.Pending = number
	if err := s.put(ctx, http.MethodPut, stateID, st); err != nil {
		return err
	}
	err := s.insert(ctx, add, number)
	if err == nil {
		next := *st
		next.Commit, next.Dead = number, dead
		err = s.commit(ctx, st, next, mine)
	}
	if err == nil || errors.Is(err, errUnknown) {
		return err
	}
	// What was put goes now, or else whoever writes next deletes it.
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if errors.Is(err, errTurnLost) { // the state is somebody else's
		_ = s.deleteRows(undo, ofPushes(number))
		return err
	}
	*st = before
	st.Pending = number
	_ = s.recover(undo, st)
	return err
}

// errUnknown says that the server went away while a change was made to count.
var errUnknown = errors.New("the server went away just when the change was to count: it is there as a whole or not at all, and the same command may be given again")

// commit makes a state count, and deletes the rows that are dead by it. What is left of these
// does not count, and whoever writes next deletes it.
func (s *Store) commit(ctx context.Context, st *state, next state, mine func() error) error {
	if err := mine(); err != nil {
		return err
	}
	if err := s.put(ctx, http.MethodPut, stateID, next); err != nil {
		if statusOf(err) == 0 {
			return fmt.Errorf("%w: %w", errUnknown, err)
		}
		return err
	}
	*st = next
	_ = s.recover(context.WithoutCancel(ctx), st)
	return nil
}

// recover deletes what does not count: what a push that was killed has put, and dead rows.
func (s *Store) recover(ctx context.Context, st *state) error {
	if st.pushing() {
		st.Aborted, st.Unclean = append(slices.Clone(st.Aborted), st.Pending), append(slices.Clone(st.Unclean), st.Pending)
		st.Commit = st.Pending // a number that no push will have again
		if err := s.put(ctx, http.MethodPut, stateID, st); err != nil {
			return err
		}
	}
	if len(st.Unclean)+len(st.Dead) == 0 {
		return nil
	}
	if len(st.Unclean) > 0 {
		if err := s.deleteRows(ctx, ofPushes(st.Unclean...)); err != nil {
			return err
		}
	}
	if err := s.deleteIDs(ctx, st.Dead); err != nil {
		return err
	}
	st.Unclean, st.Dead, st.dead = nil, nil, nil
	return s.put(ctx, http.MethodPut, stateID, st)
}

// Remove implements gallery.Store.
func (s *Store) Remove(ctx context.Context, where gallery.Filter) (removed int, err error) {
	if where.Empty() {
		return 0, gallery.ErrNothingNamed
	}
	if _, err := s.state(ctx); errors.Is(err, gallery.ErrNoGallery) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	err = s.write(ctx, func(ctx context.Context, st *state, mine func() error) error {
		next := *st
		err := s.each(ctx, st, where, textFields, func(r row) error {
			next.Dead = append(next.Dead, r.Additional.ID)
			return nil
		})
		if err != nil || len(next.Dead) == 0 {
			return err
		}
		if err := s.commit(ctx, st, next, mine); err != nil {
			return err
		}
		removed = len(next.Dead)
		return nil
	})
	return removed, err
}
