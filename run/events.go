package run

// Events receives what happens during a run, from the goroutine that trains.
type Events interface {
	// Say reports something worth a line.
	Say(format string, args ...any)
	// Warn reports something that the user should look into.
	Warn(format string, args ...any)
	// Progress reports how far a task has come; detail may be empty. The task is
	// over when done equals total.
	Progress(task string, done, total int, detail string)
}

// OrSilent returns ev, or where that is nil events that nobody receives.
func OrSilent(ev Events) Events {
	if ev == nil {
		return silent{}
	}
	return ev
}

type silent struct{}

func (silent) Say(string, ...any)                {}
func (silent) Warn(string, ...any)               {}
func (silent) Progress(string, int, int, string) {}
