// Command xds-client is a grpc-go client with an xds:/// target, and the backend for its calls.
//
//	xds-client BOOTSTRAP TARGET
//
// The protocol is that of ../../client.py: standard output gives one JSON object per line, first
// {"backend": PORT}, the loopback port of an echo server to put into endpoints. Each line of
// standard input is one call of TARGET, answered with {"ok": TEXT} or {"error": CODE, "message":
// TEXT}. The line `!csds` is answered with {"csds": BASE64}: the ClientStatusResponse of its CSDS
// service. The program stops at the end of standard input.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"log"
	"net"
	"os"
	"syscall"
	"time"

	status_pb "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	_ "google.golang.org/grpc/xds" // the scheme xds
	"google.golang.org/grpc/xds/csds"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	say       = "/test.Echo/Say"
	callLimit = 30 * time.Second
	variable  = "GRPC_XDS_BOOTSTRAP"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("xds-client BOOTSTRAP TARGET")
	}
	if os.Getenv(variable) != os.Args[1] {
		// The bootstrap is read before main begins; CSDS knows only the client made from it.
		check(os.Setenv(variable, os.Args[1]))
		check(syscall.Exec(os.Args[0], os.Args, os.Environ()))
	}
	out := json.NewEncoder(os.Stdout)
	check(out.Encode(map[string]int{"backend": backend()}))
	channel, err := grpc.NewClient(os.Args[2], grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if lines.Text() == "!csds" {
			check(out.Encode(map[string]string{"csds": clientStatus()}))
			continue
		}
		check(out.Encode(call(channel, lines.Text())))
	}
}

// clientStatus returns the response of CSDS.
func clientStatus() string {
	service, err := csds.NewClientStatusDiscoveryServer()
	check(err)
	defer service.Close()
	answer, err := service.FetchClientStatus(context.Background(), &status_pb.ClientStatusRequest{})
	check(err)
	bytes, err := proto.Marshal(answer)
	check(err)
	return base64.StdEncoding.EncodeToString(bytes)
}

// backend starts the echo server and returns its port.
func backend() int {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		var text wrapperspb.StringValue
		if err := stream.RecvMsg(&text); err != nil {
			return err
		}
		return stream.SendMsg(&text)
	}))
	go func() { check(server.Serve(socket)) }()
	return socket.Addr().(*net.TCPAddr).Port
}

func call(channel *grpc.ClientConn, text string) map[string]string {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	var echo wrapperspb.StringValue
	// Waits until the names are resolved or the deadline passes.
	err := channel.Invoke(ctx, say, wrapperspb.String(text), &echo, grpc.WaitForReady(true))
	if err != nil {
		s := status.Convert(err)
		return map[string]string{"error": s.Code().String(), "message": s.Message()}
	}
	return map[string]string{"ok": echo.GetValue()}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
