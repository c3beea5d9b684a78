package main

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/metadata"
)

// event is one line of standard output: what the server itself saw, to compare a tool with.
//
// Event is ready, done or failed (answers to commands), open, close, request or response. SotW and
// delta streams are numbered separately: a stream is identified by Delta and Stream together.
type event struct {
	Event   string `json:"event"`
	Port    int    `json:"port,omitempty"`
	Message string `json:"message,omitempty"`
	// RestPort, in ready, is the port for REST polls.
	RestPort int `json:"rest_port,omitempty"`
	// Rest marks polls and their answers, which have no stream.
	Rest bool `json:"rest,omitempty"`

	// Metadata, in open, is the request metadata of the stream, with the authority that the client
	// requested.
	Metadata map[string][]string `json:"metadata,omitempty"`

	Delta   bool   `json:"delta"`
	Stream  int64  `json:"stream"`
	Node    string `json:"node,omitempty"`
	TypeURL string `json:"type_url,omitempty"`
	Version string `json:"version,omitempty"`
	Nonce   string `json:"nonce,omitempty"`
	// Requested names (SotW), or names of the resources in a response (both).
	Names           []string          `json:"names,omitempty"`
	Subscribe       []string          `json:"subscribe,omitempty"`
	Unsubscribe     []string          `json:"unsubscribe,omitempty"`
	InitialVersions map[string]string `json:"initial_versions,omitempty"`
	Removed         []string          `json:"removed,omitempty"`
	Error           *rejection        `json:"error,omitempty"`
}

// rejection is the error_detail of a NACK.
type rejection struct {
	Code    int32  `json:"code"`
	Message string `json:"message"`
}

func detail(s *status.Status) *rejection {
	if s == nil {
		return nil
	}
	return &rejection{s.GetCode(), s.GetMessage()}
}

// nackPause is the time before a NACK is handled. go-control-plane answers a NACK at once with the
// same response: without a pause, a client that rejects it again keeps both of them busy.
const nackPause = 50 * time.Millisecond

func pauseAfter(s *status.Status) {
	if s != nil {
		time.Sleep(nackPause)
	}
}

// eventLog writes complete events, one at a time.
type eventLog struct {
	mu  sync.Mutex
	out *json.Encoder
}

func newEventLog(out io.Writer) *eventLog {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return &eventLog{out: encoder}
}

func (l *eventLog) write(e event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Ignore the error: a missing reader shows as the end of standard input.
	_ = l.out.Encode(e)
}

// callbacks writes an event for everything that go-control-plane reports.
func (l *eventLog) callbacks() server.Callbacks {
	return server.CallbackFuncs{
		StreamOpenFunc: func(of context.Context, id int64, typeURL string) error {
			l.write(event{Event: "open", Stream: id, TypeURL: typeURL, Metadata: sent(of)})
			return nil
		},
		StreamClosedFunc: func(id int64, node *core.Node) {
			l.write(event{Event: "close", Stream: id, Node: node.GetId()})
		},
		DeltaStreamOpenFunc: func(of context.Context, id int64, typeURL string) error {
			l.write(event{Event: "open", Delta: true, Stream: id, TypeURL: typeURL, Metadata: sent(of)})
			return nil
		},
		DeltaStreamClosedFunc: func(id int64, node *core.Node) {
			l.write(event{Event: "close", Delta: true, Stream: id, Node: node.GetId()})
		},
		StreamRequestFunc: func(id int64, r *discovery.DiscoveryRequest) error {
			l.write(event{
				Event: "request", Stream: id, Node: r.GetNode().GetId(), TypeURL: r.GetTypeUrl(),
				Version: r.GetVersionInfo(), Nonce: r.GetResponseNonce(), Names: r.GetResourceNames(),
				Error: detail(r.GetErrorDetail()),
			})
			pauseAfter(r.GetErrorDetail())
			return nil
		},
		StreamResponseFunc: func(_ context.Context, id int64, _ *discovery.DiscoveryRequest, r *discovery.DiscoveryResponse) {
			l.write(event{
				Event: "response", Stream: id, TypeURL: r.GetTypeUrl(), Version: r.GetVersionInfo(),
				Nonce: r.GetNonce(), Names: namesOf(r),
			})
		},
		FetchRequestFunc: func(_ context.Context, r *discovery.DiscoveryRequest) error {
			l.write(event{
				Event: "request", Rest: true, Node: r.GetNode().GetId(), TypeURL: r.GetTypeUrl(),
				Version: r.GetVersionInfo(), Nonce: r.GetResponseNonce(), Names: r.GetResourceNames(),
				Error: detail(r.GetErrorDetail()),
			})
			return nil
		},
		FetchResponseFunc: func(_ *discovery.DiscoveryRequest, r *discovery.DiscoveryResponse) {
			l.write(event{
				Event: "response", Rest: true, TypeURL: r.GetTypeUrl(), Version: r.GetVersionInfo(),
				Names: namesOf(r),
			})
		},
		StreamDeltaRequestFunc: func(id int64, r *discovery.DeltaDiscoveryRequest) error {
			l.write(event{
				Event: "request", Delta: true, Stream: id, Node: r.GetNode().GetId(), TypeURL: r.GetTypeUrl(),
				Nonce: r.GetResponseNonce(), Subscribe: r.GetResourceNamesSubscribe(),
				Unsubscribe: r.GetResourceNamesUnsubscribe(), InitialVersions: r.GetInitialResourceVersions(),
				Error: detail(r.GetErrorDetail()),
			})
			pauseAfter(r.GetErrorDetail())
			return nil
		},
		StreamDeltaResponseFunc: func(id int64, _ *discovery.DeltaDiscoveryRequest, r *discovery.DeltaDiscoveryResponse) {
			names := make([]string, 0, len(r.GetResources()))
			for _, resource := range r.GetResources() {
				names = append(names, resource.GetName())
			}
			l.write(event{
				Event: "response", Delta: true, Stream: id, TypeURL: r.GetTypeUrl(),
				Version: r.GetSystemVersionInfo(), Nonce: r.GetNonce(), Names: names,
				Removed: r.GetRemovedResources(),
			})
		},
	}
}

func sent(stream context.Context) metadata.MD {
	of, _ := metadata.FromIncomingContext(stream)
	return of
}

func namesOf(r *discovery.DiscoveryResponse) []string {
	names := make([]string, 0, len(r.GetResources()))
	for _, packed := range r.GetResources() {
		if resource, err := packed.UnmarshalNew(); err == nil {
			names = append(names, cache.GetResourceName(resource))
		}
	}
	return names
}
