// Command control-plane serves xDS for tests, from go-control-plane's snapshot cache or its linear
// caches.
//
// The server listens on a loopback port (0 picks a free one) with every service of go-control-plane
// (ADS and one per type, each SotW and delta), gRPC health and server reflection; with -rest it
// listens on another port for REST polls. Standard input takes commands, one JSON object per line
// (commands.go); standard output gives events, one JSON object per line (events.go), beginning with
// {"event":"ready"}. The server stops at the end of standard input, so that it never outlives its
// parent.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	cluster "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	extension "github.com/envoyproxy/go-control-plane/envoy/service/extension/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	runtime "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	secret "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/config"
	"github.com/envoyproxy/go-control-plane/pkg/server/sotw/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // a compressor for clients which accept it
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	v1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
)

func main() {
	port := flag.Int("port", 0, "loopback port to listen on")
	ads := flag.Bool("ads", false, "ADS mode: order the types, and hold back an answer that lacks a requested name")
	gzip := flag.Bool("gzip", false, "compress responses to clients which accept gzip")
	certificate := flag.String("cert", "", "serve TLS with this certificate chain (PEM)")
	key := flag.String("key", "", "the private key of -cert (PEM)")
	clientCA := flag.String("client-ca", "", "demand a client certificate of these CAs (PEM)")
	reflected := flag.String("reflection", "", "the only version of server reflection, v1 or v1alpha; both without")
	rest := flag.Bool("rest", false, "answer REST polls too, on a port of their own")
	linear := flag.Bool("linear", false, "a linear cache for each type, instead of a snapshot")
	flag.Parse()

	log := newEventLog(os.Stdout)
	socket, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(*port)))
	if err != nil {
		log.write(event{Event: "failed", Message: err.Error()})
		os.Exit(1)
	}
	closer := newCloser()
	var resources store = newSnapshots(*ads)
	if *linear {
		resources = newLinear()
	}
	var options []config.XDSOption
	if *ads {
		options = append(options, sotw.WithOrderedADS())
	}
	xds := server.NewServer(context.Background(), resources, log.callbacks(), options...)
	secured, err := tlsConfig(*certificate, *key, *clientCA)
	if err != nil {
		log.write(event{Event: "failed", Message: err.Error()})
		os.Exit(1)
	}
	rpc := grpc.NewServer(grpc.ChainStreamInterceptor(compress(*gzip), closer.intercept), grpc.Creds(transport(secured)))
	register(rpc, xds)
	reflect(rpc, *reflected)
	ready := event{Event: "ready", Port: socket.Addr().(*net.TCPAddr).Port}
	if *rest {
		if ready.RestPort, err = serveRest(xds, secured); err != nil {
			log.write(event{Event: "failed", Message: err.Error()})
			os.Exit(1)
		}
	}
	log.write(ready)

	go func() {
		obey(os.Stdin, commander{resources, closer, log})
		os.Exit(0)
	}()
	if err := rpc.Serve(socket); err != nil {
		log.write(event{Event: "failed", Message: err.Error()})
		os.Exit(1)
	}
}

// serveRest answers polls by go-control-plane's gateway, on the port that it returns.
func serveRest(xds server.Server, secured *tls.Config) (int, error) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := socket.Addr().(*net.TCPAddr).Port
	if secured != nil {
		socket = tls.NewListener(socket, secured)
	}
	gateway := &server.HTTPGateway{Server: xds}
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, code, err := gateway.ServeHTTP(r)
		if err != nil {
			http.Error(w, err.Error(), code)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		// Ignore the error: the client has disconnected.
		_, _ = w.Write(body)
	}
	go func() { _ = http.Serve(socket, http.HandlerFunc(answer)) }()
	return port, nil
}

func transport(secured *tls.Config) credentials.TransportCredentials {
	if secured == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(secured)
}

// tlsConfig is nil without a certificate: plaintext.
func tlsConfig(certificate, key, clientCA string) (*tls.Config, error) {
	if certificate == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	options := &tls.Config{Certificates: []tls.Certificate{pair}}
	if clientCA != "" {
		text, err := os.ReadFile(clientCA)
		if err != nil {
			return nil, err
		}
		options.ClientCAs = x509.NewCertPool()
		if !options.ClientCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("no certificate in %s", clientCA)
		}
		options.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return options, nil
}

// register puts every discovery service on rpc, with health beside them.
func register(rpc *grpc.Server, xds server.Server) {
	discovery.RegisterAggregatedDiscoveryServiceServer(rpc, xds)
	cluster.RegisterClusterDiscoveryServiceServer(rpc, xds)
	endpoint.RegisterEndpointDiscoveryServiceServer(rpc, xds)
	listener.RegisterListenerDiscoveryServiceServer(rpc, xds)
	route.RegisterRouteDiscoveryServiceServer(rpc, xds)
	route.RegisterScopedRoutesDiscoveryServiceServer(rpc, xds)
	route.RegisterVirtualHostDiscoveryServiceServer(rpc, xds)
	secret.RegisterSecretDiscoveryServiceServer(rpc, xds)
	runtime.RegisterRuntimeDiscoveryServiceServer(rpc, xds)
	extension.RegisterExtensionConfigDiscoveryServiceServer(rpc, xds)
	healthpb.RegisterHealthServer(rpc, health.NewServer())
}

// reflect serves the descriptors of all that is registered.
func reflect(rpc *grpc.Server, version string) {
	switch version {
	case "v1":
		reflection.RegisterV1(rpc)
	case "v1alpha":
		v1alpha.RegisterServerReflectionServer(rpc, reflection.NewServer(reflection.ServerOptions{Services: rpc}))
	default:
		reflection.Register(rpc)
	}
}

// compress asks grpc-go for gzip, on streams of clients whose grpc-accept-encoding has it.
func compress(wanted bool) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if wanted {
			accepted, err := grpc.ClientSupportedCompressors(stream.Context())
			if err == nil && strings.Contains(strings.Join(accepted, ","), "gzip") {
				if err := grpc.SetSendCompressor(stream.Context(), "gzip"); err != nil {
					return err
				}
			}
		}
		return next(srv, stream)
	}
}
