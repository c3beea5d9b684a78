package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	// Messages carried in an Any: protobuf JSON can be read for linked types only.
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
)

// maxCommand bounds one line of standard input, in bytes.
const maxCommand = 64 << 20

// command is one line of standard input with exactly one member.
//
//	{"set": {TYPE_URL: {"version": "1", "resources": [{"@type": TYPE_URL, ...}]}}}   the whole new snapshot
//	{"close": {"code": 14, "message": "bye"}}                                      end all open streams
type command struct {
	Set   map[string]typed `json:"set"`
	Close *rejection       `json:"close"`
}

// typed holds the resources of one type, as protobuf JSON of google.protobuf.Any.
type typed struct {
	Version   string            `json:"version"`
	Resources []json.RawMessage `json:"resources"`
}

// store holds the served resources.
type store interface {
	cache.Cache
	set(all map[string]typed) error
}

type commander struct {
	store  store
	closer *closer
	log    *eventLog
}

// obey executes commands until the input ends, and answers each with done or failed.
func obey(input io.Reader, to commander) {
	lines := bufio.NewScanner(input)
	lines.Buffer(nil, maxCommand)
	for lines.Scan() {
		answer := event{Event: "done"}
		if err := to.run(lines.Bytes()); err != nil {
			answer = event{Event: "failed", Message: err.Error()}
		}
		to.log.write(answer)
	}
}

func (to commander) run(line []byte) error {
	var c command
	if err := json.Unmarshal(line, &c); err != nil {
		return err
	}
	switch {
	case c.Set != nil:
		return to.store.set(c.Set)
	case c.Close != nil:
		to.closer.close(status.Error(codes.Code(c.Close.Code), c.Close.Message))
		return nil
	}
	return errors.New("a command is one of set, close")
}

func build(set map[string]typed) (*cache.Snapshot, error) {
	snapshot := &cache.Snapshot{}
	for typeURL, of := range set {
		index := cache.GetResponseType(typeURL)
		if index == types.UnknownType {
			return nil, fmt.Errorf("%s is no type that a snapshot holds", typeURL)
		}
		resources, err := unpack(of.Resources)
		if err != nil {
			return nil, err
		}
		snapshot.Resources[index] = cache.NewResources(of.Version, resources)
	}
	return snapshot, nil
}

// unpack reads protobuf JSON of google.protobuf.Any.
func unpack(texts []json.RawMessage) ([]types.Resource, error) {
	resources := make([]types.Resource, 0, len(texts))
	for _, text := range texts {
		var packed anypb.Any
		if err := protojson.Unmarshal(text, &packed); err != nil {
			return nil, err
		}
		resource, err := packed.UnmarshalNew()
		if err != nil {
			return nil, err
		}
		resources = append(resources, resource)
	}
	return resources, nil
}

// everyone is the node id shared by all clients, so that all get the same snapshot.
const everyone = "everyone"

type anyNode struct{}

func (anyNode) ID(*core.Node) string { return everyone }

// snapshots serves the same snapshot to everyone.
type snapshots struct {
	cache.SnapshotCache
}

func newSnapshots(ads bool) snapshots {
	return snapshots{cache.NewSnapshotCache(ads, anyNode{}, nil)}
}

func (to snapshots) set(all map[string]typed) error {
	snapshot, err := build(all)
	if err != nil {
		return err
	}
	return to.SetSnapshot(context.Background(), everyone, snapshot)
}

// closer ends streams from outside their handlers.
type closer struct {
	mu   sync.Mutex
	open map[chan error]struct{}
}

func newCloser() *closer {
	return &closer{open: map[chan error]struct{}{}}
}

func (c *closer) close(with error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for stream := range c.open {
		stream <- with // holds one; a stream is told once, then forgotten
		delete(c.open, stream)
	}
}

func (c *closer) enter() chan error {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := make(chan error, 1)
	c.open[told] = struct{}{}
	return told
}

func (c *closer) leave(told chan error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, told)
}

// intercept returns when the handler does or when told to close, whichever is first. Returning ends
// the stream, which ends a handler that still runs: its next receive fails.
func (c *closer) intercept(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	told := c.enter()
	defer c.leave(told)
	returned := make(chan error, 1)
	go func() { returned <- next(srv, stream) }()
	select {
	case err := <-returned:
		return err
	case err := <-told:
		return err
	}
}
