package serve

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/serve/api"
)

//go:embed documents.html
var documentsText string

var documentsTemplate = template.Must(template.New("documents").Parse(documentsText))

// document answers GET /openapi.json.
func (s *Server) document(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", jsonType)
	_, _ = w.Write(api.Document) // the client has gone
}

// operation is one of the service, for the page that describes it.
type operation struct {
	Method, Path, Summary, Description string
	Token                              bool
	Parameters                         []parameter
	Bodies                             []string
	Fields                             []parameter // of the JSON body
	Answers                            []parameter // by status
}

type parameter struct{ Name, About string }

// openAPI is what the page shows of the document.
type openAPI struct {
	Info  struct{ Title, Description string }
	Paths map[string]map[string]struct {
		Summary, Description string
		Security             []any
		Parameters           []struct {
			Name, Description string
			Schema            struct{ Description string }
		}
		RequestBody struct {
			Content map[string]struct {
				Schema struct {
					Ref string `json:"$ref"`
				}
			}
		}
		Responses map[string]struct{ Description string }
	}
	Components struct {
		Schemas map[string]struct {
			Description string
			Properties  map[string]struct{ Description string }
		}
	}
}

// operations lists the operations of the document, in the order of their paths.
func (o openAPI) operations() (list []operation) {
	for _, path := range slices.Sorted(maps.Keys(o.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(o.Paths[path])) {
			from := o.Paths[path][method]
			op := operation{Method: strings.ToUpper(method), Path: path, Summary: from.Summary, Description: from.Description, Token: len(from.Security) > 0}
			for _, p := range from.Parameters {
				op.Parameters = append(op.Parameters, parameter{p.Name, strings.Join(slices.DeleteFunc([]string{p.Description, p.Schema.Description}, func(s string) bool { return s == "" }), "; ")})
			}
			op.Bodies = slices.Sorted(maps.Keys(from.RequestBody.Content))
			if _, name, ok := strings.Cut(from.RequestBody.Content[jsonType].Schema.Ref, "schemas/"); ok {
				properties := o.Components.Schemas[name].Properties
				for _, field := range slices.Sorted(maps.Keys(properties)) {
					op.Fields = append(op.Fields, parameter{field, properties[field].Description})
				}
			}
			for _, code := range slices.Sorted(maps.Keys(from.Responses)) {
				op.Answers = append(op.Answers, parameter{code, from.Responses[code].Description})
			}
			list = append(list, op)
		}
	}
	return list
}

// documentPage answers GET /docs.
func (s *Server) documentPage(w http.ResponseWriter, r *http.Request) {
	var o openAPI
	err := json.Unmarshal(api.Document, &o)
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	var text bytes.Buffer
	if err == nil {
		err = documentsTemplate.Execute(&text, map[string]any{"Info": o.Info, "Operations": o.operations(), "At": scheme + "://" + r.Host, "Features": s.cfg.Features, "Changes": len(s.tokens) > 0, "Page": s.cfg.Page != nil})
	}
	if err != nil {
		api.Fail(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes()) // the client has gone
}
