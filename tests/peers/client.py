"""A gRPC C-core client with an xds:/// target, and the backend for its calls, in one process.

client.py BOOTSTRAP TARGET

BOOTSTRAP is a gRPC xDS bootstrap file. Standard output gives one JSON object per line, first
{"backend": PORT}: the loopback port of an echo server to put into endpoints. Each line of standard
input is one call of TARGET, answered with {"ok": TEXT} or {"error": CODE, "message": TEXT}. The line
`!csds` is answered with {"csds": BASE64}: the ClientStatusResponse that the CSDS service of the
process sends. The program stops at the end of standard input.
"""

import base64
import concurrent.futures
import json
import os
import sys

os.environ["GRPC_XDS_BOOTSTRAP"] = sys.argv[1]
import grpc  # noqa: E402  (reads the environment when loaded)
from grpc._cython import cygrpc  # noqa: E402  (the basis of grpcio-csds)

CALL_SECONDS = 30


def tell(**line):
    print(json.dumps(line), flush=True)


def echo(request, _context):
    return request


def start_backend():
    method = grpc.unary_unary_rpc_method_handler(echo)
    service = grpc.method_handlers_generic_handler("test.Echo", {"Say": method})
    backend = grpc.server(concurrent.futures.ThreadPoolExecutor(2), handlers=[service])
    port = backend.add_insecure_port("127.0.0.1:0")
    backend.start()
    return backend, port


def main():
    backend, port = start_backend()
    tell(backend=port)
    with grpc.insecure_channel(sys.argv[2]) as channel:
        say = channel.unary_unary("/test.Echo/Say")
        for line in sys.stdin:
            if line.strip() == "!csds":
                tell(csds=base64.b64encode(cygrpc.dump_xds_configs()).decode())
                continue
            try:
                # wait_for_ready waits until the names are resolved or the deadline passes.
                answer = say(line.strip().encode(), timeout=CALL_SECONDS, wait_for_ready=True)
                tell(ok=answer.decode())
            except grpc.RpcError as e:
                tell(error=e.code().name, message=e.details())
    backend.stop(None)


main()
