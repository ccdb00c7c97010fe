package cli

import (
	"fmt"
	"regexp"

	"github.com/sirupsen/logrus"

	"github.com/vernier-ml/vernier/internal/nametext"
)

// plain takes out of a message the names of packages, which tell a programmer who
// speaks and a user nothing.
func plain(message string) string {
	names := regexp.MustCompile(`(?m)(^|: )(?:(?:backbone|cpu|cuda|data|eval|gallery|layers|linear|losses|model|reference|report|serve|train|weights): )+`)
	return names.ReplaceAllString(message, "$1")
}

// plainFormatter writes lines for people: the time, the level of a warning or an error,
// and the message.
type plainFormatter struct{}

func (plainFormatter) Format(e *logrus.Entry) ([]byte, error) {
	level := ""
	if e.Level < logrus.InfoLevel {
		level = e.Level.String() + ": "
	}
	return fmt.Appendf(nil, "%s  %s%s\n", e.Time.Format("15:04:05"), level, nametext.Lines(plain(e.Message))), nil
}
