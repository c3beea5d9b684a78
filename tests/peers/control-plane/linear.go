package main

import (
	"fmt"

	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

// linear serves each type from its own linear cache, which counts versions itself and ignores the
// versions of a set command.
type linear struct {
	cache.Cache
	byType map[string]*cache.LinearCache
}

func newLinear() linear {
	byType := map[string]*cache.LinearCache{}
	caches := map[string]cache.Cache{}
	for at := types.ResponseType(0); at < types.UnknownType; at++ {
		typeURL, err := cache.GetResponseTypeURL(at)
		if err != nil {
			continue
		}
		byType[typeURL] = cache.NewLinearCache(typeURL)
		caches[typeURL] = byType[typeURL]
	}
	mux := &cache.MuxCache{
		Classify:      func(request *cache.Request) string { return request.GetTypeUrl() },
		ClassifyDelta: func(request *cache.DeltaRequest) string { return request.GetTypeUrl() },
		Caches:        caches,
	}
	return linear{mux, byType}
}

// set passes each cache its changes; types that are not named become empty.
func (to linear) set(all map[string]typed) error {
	for typeURL := range all {
		if to.byType[typeURL] == nil {
			return fmt.Errorf("%s is no type that a cache holds", typeURL)
		}
	}
	for typeURL, into := range to.byType {
		resources, err := unpack(all[typeURL].Resources)
		if err != nil {
			return err
		}
		named := map[string]types.Resource{}
		for _, resource := range resources {
			named[cache.GetResourceName(resource)] = resource
		}
		if len(named)+into.NumResources() > 0 {
			into.SetResources(named)
		}
	}
	return nil
}
