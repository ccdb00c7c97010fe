package weaviate

import (
	"context"
	"fmt"
	"net/http"
)

// Parameters of the index: the neighbors of a row, and the rows that are kept in view while a
// row is added and while the index is searched. A learned metric makes dense clusters, of
// which less effort leaves some rows unreached.
const (
	links       = 32
	buildEffort = 200
	effort      = 800
)

// stateSuffix is behind the name of the collection that holds the state and the turn to write.
const stateSuffix = "_state"

// Properties of a row. Filters compare hashes: Weaviate trims texts and bounds their length.
const (
	keyProperty   = "key"
	pathProperty  = "path"
	classProperty = "label"
	pushProperty  = "push"
	hashSuffix    = "_hash"
)

type object map[string]any

// createCollections makes the collections of a gallery that are not there.
func (s *Store) createCollections(ctx context.Context) error {
	var properties []object
	for _, name := range []string{keyProperty, pathProperty, classProperty} {
		properties = append(properties,
			object{"name": name, "dataType": []string{"text"}, "indexFilterable": false, "indexSearchable": false},
			object{"name": name + hashSuffix, "dataType": []string{"text"}, "tokenization": "field", "indexFilterable": true, "indexSearchable": false})
	}
	properties = append(properties, object{"name": pushProperty, "dataType": []string{"int"}, "indexFilterable": true, "indexRangeFilters": true})
	rows := object{
		"class": s.at.collection, "description": fmt.Sprintf("embeddings of the model %s, by vernier gallery", s.info.Model),
		"vectorizer": "none", "vectorIndexType": "hnsw",
		"vectorIndexConfig": object{"distance": s.distance, "ef": effort, "maxConnections": links, "efConstruction": buildEffort},
		"properties":        properties,
	}
	if s.at.shards > 0 {
		rows["shardingConfig"] = object{"desiredCount": s.at.shards}
	}
	state := object{
		"class": s.at.collection + stateSuffix, "description": "which rows of " + s.at.collection + " count, and whose turn it is to write",
		"vectorizer": "none", "vectorIndexType": "hnsw", "vectorIndexConfig": object{"skip": true},
		"shardingConfig": object{"desiredCount": 1},
		"properties":     []object{{"name": contentProperty, "dataType": []string{"text"}, "indexFilterable": false, "indexSearchable": false}},
	}
	for _, collection := range []object{rows, state} {
		err := s.call(ctx, http.MethodPost, "/v1/schema", collection, nil)
		if statusOf(err) == http.StatusUnprocessableEntity { // it may be there already
			if there := s.call(ctx, http.MethodGet, fmt.Sprintf("/v1/schema/%s", collection["class"]), nil, nil); there == nil {
				err = nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shards is how many shards the collection has.
func (s *Store) shards(ctx context.Context) (int, error) {
	var collection struct {
		ShardingConfig struct{ ActualCount int }
	}
	err := s.call(ctx, http.MethodGet, "/v1/schema/"+s.at.collection, nil, &collection)
	return collection.ShardingConfig.ActualCount, err
}
