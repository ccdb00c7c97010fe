package cli

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/sirupsen/logrus"
	"golang.org/x/term"

	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/setting"
)

// Reporter tells a user what happens: a progress bar on a terminal, a line now
// and then elsewhere.
type Reporter struct {
	log      *logrus.Logger
	flag     setting.Call // names settings in lines
	terminal bool
	every    time.Duration // between plain lines
	now      func() time.Time

	mu   sync.Mutex // progress may come from several goroutines
	bar  *progressbar.ProgressBar
	task string
	pace pace
	said time.Time
}

// firstWord is how long a task may take without a plain line.
const firstWord = 2 * time.Second

// NewReporter reports to log and, on a terminal, by a bar on standard error. flag is what
// lines call settings.
func NewReporter(log *logrus.Logger, flag setting.Call) *Reporter {
	return &Reporter{log: log, flag: flag, terminal: term.IsTerminal(int(os.Stderr.Fd())), every: 5 * time.Second, now: time.Now}
}

// Say implements run.Events.
func (r *Reporter) Say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hide()
	r.log.Infof(format, setting.Args(args, r.flag)...)
}

// Warn implements run.Events.
func (r *Reporter) Warn(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hide()
	r.log.Warnf(format, setting.Args(args, r.flag)...)
}

// Progress implements run.Events. It may be called from several goroutines,
// and then out of order. A total of 0 is one that is not known yet.
func (r *Reporter) Progress(task string, done, total int, detail string) {
	if !r.log.IsLevelEnabled(logrus.InfoLevel) || total < 1 && done < 1 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if task != r.task {
		r.clear()
		r.task, r.said = task, now.Add(min(firstWord, r.every)-r.every)
		r.pace = startPace(now, done)
	}
	r.pace.note(now, done)
	text := task
	if detail != "" {
		text += "  " + detail
	}
	left := ""
	if d, ok := r.pace.left(now, total); ok && total > 0 {
		left = fmt.Sprintf("  about %s left", d.Round(time.Second))
	}
	if r.terminal {
		r.draw(nametext.Show(text+left), done, total)
	} else if now.Sub(r.said) >= r.every && (done < total || total == 0) {
		r.said = now
		count := fmt.Sprint(done)
		if total > 0 {
			count += fmt.Sprintf("/%d", total)
		}
		r.log.Infof("%s  %s%s", text, count, left)
	}
	if total > 0 && done >= total {
		r.clear()
	}
}

// Listing implements data.Options.Progress.
func (r *Reporter) Listing(what string, done, total int) { r.Progress(what, done, total, "") }

func (r *Reporter) draw(text string, done, total int) {
	if r.bar == nil {
		if total == 0 {
			total = -1 // which turns the bar into a wheel
		}
		r.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription(text), progressbar.OptionSetWidth(24), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(false))
	}
	// The bar cannot be written: then there is nobody to read it either.
	_ = r.bar.Set(done)
	r.bar.Describe(text) // draws, which Set may leave out
}

// clear ends the current task.
func (r *Reporter) clear() {
	r.hide()
	r.task = ""
}

// hide makes room for a line; the task continues.
func (r *Reporter) hide() {
	if r.bar != nil {
		_ = r.bar.Clear()
		r.bar = nil
	}
}
