// Command metric prints the distance of two points by a metric: the first is the
// origin, the coordinates of the second follow the metric's name.
//
//	metric euclidean 3 4
package main

import (
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/vernier-ml/vernier/metric"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: metric NAME COORDINATE...")
	}
	m, err := metric.Parse(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var point []float32
	for _, text := range os.Args[2:] {
		x, err := strconv.ParseFloat(text, 32)
		if err != nil {
			log.Fatal(err)
		}
		point = append(point, float32(x))
	}
	fmt.Println(m.Value(make([]float32, len(point)), point))
}
