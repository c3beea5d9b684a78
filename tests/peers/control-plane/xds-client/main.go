// Command xds-client is a grpc-go client with an xds:/// target, and the backend that it should find.
//
//	xds-client BOOTSTRAP TARGET
//
// It speaks as ../../client.py does: standard output gives one JSON object a line, first {"backend": PORT}, the
// loopback port of an echo server to put into endpoints. Each line of standard input is then one call of TARGET,
// answered with {"ok": TEXT} or {"error": CODE, "message": TEXT}. It ends when its standard input ends.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	say       = "/test.Echo/Say"
	callLimit = 10 * time.Second
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("xds-client BOOTSTRAP TARGET")
	}
	bootstrap, err := os.ReadFile(os.Args[1])
	check(err)
	resolver, err := xds.NewXDSResolverWithConfigForTesting(bootstrap)
	check(err)
	out := json.NewEncoder(os.Stdout)
	check(out.Encode(map[string]int{"backend": backend()}))
	channel, err := grpc.NewClient(os.Args[2],
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(resolver))
	check(err)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		check(out.Encode(call(channel, lines.Text())))
	}
}

// backend starts the echo server; its port.
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
	// Until the names are resolved, or the time is up.
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
