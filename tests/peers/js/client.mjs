// A grpc-js client with an xds:/// target, and the backend for its calls, in one process.
//
// client.mjs BOOTSTRAP TARGET
//
// The protocol is that of ../client.py: standard output gives one JSON object per line, first
// {"backend": PORT}, the loopback port of an echo server to put into endpoints. Each line of
// standard input is one call of TARGET, answered with {"ok": TEXT} or {"error": CODE, "message":
// TEXT}. The program stops at the end of standard input. Run it in the folder where the packages
// are installed.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const CALL_MILLIS = 30_000;

const [bootstrap, target] = process.argv.slice(2);
process.env.GRPC_XDS_BOOTSTRAP_CONFIG = readFileSync(bootstrap, 'utf8');
const require = createRequire(`${process.cwd()}/`);
const grpc = require('@grpc/grpc-js');
require('@grpc/grpc-js-xds').register();

const asIs = (bytes) => bytes;
const echo = {
  say: {
    path: '/test.Echo/Say',
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  },
};

const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const backend = new grpc.Server();
backend.addService(echo, { say: (call, done) => done(null, call.request) });
backend.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), async (error, port) => {
  if (error) throw error;
  tell({ backend: port });
  const Echo = grpc.makeGenericClientConstructor(echo, 'Echo');
  const client = new Echo(target, grpc.credentials.createInsecure());
  for await (const line of createInterface({ input: process.stdin })) {
    const metadata = new grpc.Metadata({ waitForReady: true });
    const options = { deadline: Date.now() + CALL_MILLIS };
    await new Promise((done) => {
      client.say(Buffer.from(line), metadata, options, (error, answer) => {
        tell(error ? { error: grpc.status[error.code], message: error.details } : { ok: answer.toString() });
        done();
      });
    });
  }
  process.exit(0);
});
