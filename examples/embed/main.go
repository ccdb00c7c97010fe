// Command embed prints the images of an index that are nearest to a given one:
//
//	embed runs/birds birds.index robin.jpg
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/vernier-ml/vernier"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: embed MODEL INDEX IMAGE")
	}
	m, err := vernier.Load(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	index, err := m.OpenIndex(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	near, err := index.Search(context.Background(), vernier.File(os.Args[3]), 5)
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range near {
		fmt.Printf("%.4f  %s  %s\n", n.Distance, n.Class, n.Name)
	}
}
