"""A gRPC C-core client with an xds:/// target, and the backend it should find, in one process.

client.py BOOTSTRAP TARGET

BOOTSTRAP is a gRPC xDS bootstrap file. Standard output gives one JSON object a line, first {"backend": PORT}: the
loopback port of an echo server to put into endpoints. Each line of standard input is then one call of TARGET,
answered with {"ok": TEXT} or {"error": CODE, "message": TEXT}. The line `!csds` is answered with {"csds": BASE64}: the
ClientStatusResponse that the process would give, which is what its CSDS service sends. It ends when its standard input
ends.
"""

import base64
import concurrent.futures
import json
import os
import sys

os.environ["GRPC_XDS_BOOTSTRAP"] = sys.argv[1]
import grpc  # noqa: E402  (it reads the environment when it is loaded)
from grpc._cython import cygrpc  # noqa: E402  (what grpcio-csds stands on)

CALL_SECONDS = 10


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
                # wait_for_ready: until the names are resolved, or the time is up.
                answer = say(line.strip().encode(), timeout=CALL_SECONDS, wait_for_ready=True)
                tell(ok=answer.decode())
            except grpc.RpcError as e:
                tell(error=e.code().name, message=e.details())
    backend.stop(None)


main()
