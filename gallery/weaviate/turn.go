package weaviate

import (
	"context"
	"crypto/rand"
	"errors"
	"math/big"
	"net/http"
	"sync"
	"time"
)

// turn is the right to write, which one process has at a time. Its object says whose turn it
// is and counts up while that lives.
type turn struct {
	Owner string `json:"owner"`
	Beat  int64  `json:"beat"`
}

// errTurnLost says that another process has taken this one for dead.
var errTurnLost = errors.New("another process has begun to write, since this one was silent for too long: nothing was changed, and the same command may be given again")

// write does something while nobody else writes to the gallery, with the state as it is then.
// mine says whether it is this process's turn still.
func (s *Store) write(ctx context.Context, do func(ctx context.Context, st *state, mine func() error) error) error {
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	own := turn{Owner: rand.Text()}
	if err := s.take(ctx, own); err != nil {
		return s.explain(ctx, err)
	}
	beating, end := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Go(func() { s.beat(beating, own) })
	defer func() {
		end()
		wait.Wait()
		s.give(context.WithoutCancel(ctx), own)
	}()
	st, err := s.state(ctx)
	if err == nil {
		err = s.recover(ctx, st)
	}
	if err == nil {
		err = do(ctx, st, func() error { return s.mine(ctx, own) })
	}
	return s.explain(ctx, err)
}

// take waits for the turn.
func (s *Store) take(ctx context.Context, own turn) error {
	var seen turn
	since := time.Now()
	for {
		err := s.put(ctx, http.MethodPost, turnID, own)
		if err == nil {
			// Two nodes may both have found that it was nobody's turn: one of the objects stays.
			if err := sleep(ctx, 20*time.Millisecond); err != nil {
				return err
			}
			if err = s.mine(ctx, own); err == nil || !errors.Is(err, errTurnLost) {
				return err
			}
		} else if statusOf(err) != http.StatusUnprocessableEntity {
			return err
		}
		var now turn
		there, err := s.content(ctx, turnID, &now)
		if err != nil {
			return err
		}
		switch {
		case !there:
			continue
		case now != seen:
			seen, since = now, time.Now()
		case time.Since(since) > s.lease:
			if err := s.deleteTurn(ctx); err != nil {
				return err
			}
			continue
		}
		n, err := rand.Int(rand.Reader, big.NewInt(50))
		if err != nil {
			return err
		}
		if err := sleep(ctx, 20*time.Millisecond+time.Duration(n.Int64())*time.Millisecond); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// mine is errTurnLost if it is not a process's turn any more.
func (s *Store) mine(ctx context.Context, own turn) error {
	var now turn
	there, err := s.content(ctx, turnID, &now)
	if err == nil && (!there || now.Owner != own.Owner) {
		err = errTurnLost
	}
	return err
}

// beat counts up, so that others see that the process lives.
func (s *Store) beat(ctx context.Context, own turn) {
	for sleep(ctx, s.lease/5) == nil {
		if err := s.mine(ctx, own); errors.Is(err, errTurnLost) {
			return
		}
		own.Beat++
		_ = s.put(ctx, http.MethodPut, turnID, own) // the next one may succeed
	}
}

// give gives the turn back. If that fails, others wait until they take the process for dead.
func (s *Store) give(ctx context.Context, own turn) {
	ctx, cancel := context.WithTimeout(ctx, s.lease)
	defer cancel()
	if s.mine(ctx, own) == nil {
		_ = s.deleteTurn(ctx)
	}
}

func (s *Store) deleteTurn(ctx context.Context) error {
	err := s.call(ctx, http.MethodDelete, "/v1/objects/"+s.at.collection+stateSuffix+"/"+turnID, nil, nil)
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}
