package main

import (
	"github.com/sirupsen/logrus"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/setting"
)

// newReporter reports to log in lines that call settings by their flags.
func newReporter(log *logrus.Logger) *cli.Reporter { return cli.NewReporter(log, flagOf) }

// flagOf calls a setting by its flag: libraries do not know flags, and name the places of
// settings in a configuration. A setting without a flag keeps its place.
func flagOf(name setting.Name) string {
	switch name { // flags that are no one setting's
	case "freeze.params":
		return "--freeze"
	case "model.scale", "model.scaling":
		return "--scale"
	case "precision", "from":
		return "--" + string(name)
	}
	for _, places := range []map[string]string{networkPlaces, trainPlaces} {
		for flag, place := range places {
			if place == string(name) {
				return "--" + flag
			}
		}
	}
	return string(name)
}
