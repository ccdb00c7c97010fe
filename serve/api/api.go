// Package api is what the service of vernier serve and its clients say to each other: the
// bodies of requests and answers, in JSON, and their limits. Document is the same for
// programs in any language, as OpenAPI 3.1.
package api

import _ "embed"

// Document is the description of the service in OpenAPI 3.1, as JSON.
//
//go:embed openapi.json
var Document []byte

// Paths of the service.
const (
	SearchPath  = "/v1/search"
	ImagesPath  = "/v1/images"
	PicturePath = "/v1/picture"
	InfoPath    = "/v1/info"
)

// Limits of a request.
const (
	DefaultK   = 10
	MaxK       = 1000   // rows of a page
	MaxDepth   = 10_000 // rows up to the end of a page
	MaxQueries = 64     // of a search
	MaxImages  = 64     // of a put
	MaxNames   = 1000   // of a delete
	MaxPath    = 1024   // bytes of a path or a class
)

// Search asks for the rows that are nearest to queries. Exactly one of Vector, Vectors,
// Features, Key and Path is set. Images are the body of a request, and what else there is of a
// Search is in its URL.
type Search struct {
	Vector   []float32   `json:"vector,omitempty"`   // an embedding by the model of the service
	Vectors  [][]float32 `json:"vectors,omitempty"`  // several
	Features [][]float32 `json:"features,omitempty"` // rows of features, for a model that takes these in place of images
	Key      string      `json:"key,omitempty"`      // a row of the gallery, which is not found itself
	Path     string      `json:"path,omitempty"`     // the same by its path

	K      int    `json:"k,omitempty"`      // rows to find for each query; 0 means DefaultK
	Offset int    `json:"offset,omitempty"` // rows to pass over before these: the start of a page
	Class  string `json:"class,omitempty"`  // find rows of this class only
}

// Found answers a Search.
type Found struct {
	Results []Result `json:"results"` // of each query, in their order
	// Next is the offset of the next page; 0 if there is none.
	Next int `json:"next,omitempty"`
	// Rows is the size of the gallery now or a while ago: a database is not made to count by
	// every search. Where the gallery changes between two pages, they may overlap or leave
	// rows out.
	Rows int `json:"rows"`
}

// Result is what was found for a query.
type Result struct {
	// Query is the SHA-256 of the image, or of the numbers as little-endian float32, in
	// hexadecimal.
	Query     string     `json:"query"`
	Neighbors []Neighbor `json:"neighbors"` // nearest first
}

// Neighbor is a row of the gallery and its distance from a query.
type Neighbor struct {
	// Key is what the gallery knows the row by: of an image the SHA-256 of its file.
	Key      string  `json:"key"`
	Path     string  `json:"path"`
	Class    string  `json:"class"`
	Distance float64 `json:"distance"`       // by the metric of the model
	Same     *bool   `json:"same,omitempty"` // within the threshold of the model, if it has one
}

// Put adds rows to the gallery. A row whose path or key is there already takes the place of
// the earlier one. An image is the body of a request, and its path and class are in its URL.
type Put struct {
	Rows []Row `json:"rows"`
}

// Row is a row that is put. One of Vector and Features is set.
type Row struct {
	Path     string    `json:"path"`
	Class    string    `json:"class,omitempty"`
	Vector   []float32 `json:"vector,omitempty"`
	Features []float32 `json:"features,omitempty"`
}

// Delete removes rows: those of keys, of paths, or of a class.
type Delete struct {
	Keys  []string `json:"keys,omitempty"`
	Paths []string `json:"paths,omitempty"`
	Class string   `json:"class,omitempty"`
}

// Changed answers a Put or a Delete. What it says is on the disk.
type Changed struct {
	Added     int `json:"added"`
	Replaced  int `json:"replaced"`
	Unchanged int `json:"unchanged"`
	Deleted   int `json:"deleted"`
	Rows      int `json:"rows"` // of the gallery now
}

// Info describes the service.
type Info struct {
	Title     string   `json:"title"`
	Data      string   `json:"data,omitempty"` // what the gallery holds
	Rows      int      `json:"rows"`
	Metric    string   `json:"metric"`
	Model     string   `json:"model"` // its fingerprint
	Dim       int      `json:"dim"`   // numbers of an embedding
	Features  int      `json:"features,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"` // the largest distance of the same
	MaxBytes  int64    `json:"max_bytes"`           // of a request
	Changes   bool     `json:"changes"`             // whether rows can be put and deleted
}

// Error is the answer to a request that was not served.
type Error struct {
	Error string `json:"error"`
}
