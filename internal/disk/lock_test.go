package disk

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWaitingForAnotherProcessCanBeCanceled(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.lock")
	unlock, err := Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, name); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a held lock: %v", err)
	}
	unlock()
	again, err := Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	again()
	if _, err := Lock(t.Context(), filepath.Join(t.TempDir(), "no", "folder")); err == nil || !strings.Contains(err.Error(), "no") {
		t.Errorf("no folder: %v", err)
	}
}
