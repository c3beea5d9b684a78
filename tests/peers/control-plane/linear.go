package main

import (
	"fmt"

	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

// linear serves each type from a linear cache of its own, which counts its versions itself: those of a set command
// mean nothing to it.
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

// set tells each cache what differs from what it has; types that are not named have nothing then.
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
