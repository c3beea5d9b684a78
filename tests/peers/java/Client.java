import com.google.gson.JsonObject;
import io.grpc.CallOptions;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * A grpc-java client with an xds:/// target, and the backend for its calls, in one process.
 *
 * <p>Client BOOTSTRAP TARGET
 *
 * <p>The protocol is that of ../client.py: standard output gives one JSON object per line, first
 * {"backend": PORT}, the loopback port of an echo server to put into endpoints. Each line of
 * standard input is one call of TARGET, answered with {"ok": TEXT} or {"error": CODE, "message":
 * TEXT}. The program stops at the end of standard input.
 */
public final class Client {
  private static final long CALL_SECONDS = 30;

  /** Text as the bytes of a message. */
  private static final MethodDescriptor.Marshaller<String> TEXT =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(String text) {
          return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public String parse(InputStream bytes) {
          try {
            return new String(bytes.readAllBytes(), StandardCharsets.UTF_8);
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        }
      };

  private static final MethodDescriptor<String, String> SAY =
      MethodDescriptor.newBuilder(TEXT, TEXT)
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName("test.Echo/Say")
          .build();

  public static void main(String[] arguments) throws IOException {
    System.setProperty("io.grpc.xds.bootstrap", arguments[0]);
    Server backend = startBackend();
    JsonObject started = new JsonObject();
    started.addProperty("backend", backend.getPort());
    System.out.println(started);
    ManagedChannel channel =
        Grpc.newChannelBuilder(arguments[1], InsecureChannelCredentials.create()).build();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      System.out.println(call(channel, line));
    }
    System.exit(0);
  }

  private static Server startBackend() throws IOException {
    ServerServiceDefinition echo =
        ServerServiceDefinition.builder("test.Echo")
            .addMethod(
                SAY,
                ServerCalls.asyncUnaryCall(
                    (text, answer) -> {
                      answer.onNext(text);
                      answer.onCompleted();
                    }))
            .build();
    return NettyServerBuilder.forAddress(
            new InetSocketAddress("127.0.0.1", 0), InsecureServerCredentials.create())
        .addService(echo)
        .build()
        .start();
  }

  private static JsonObject call(ManagedChannel channel, String text) {
    CallOptions options =
        CallOptions.DEFAULT.withWaitForReady().withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
    JsonObject answer = new JsonObject();
    try {
      answer.addProperty("ok", ClientCalls.blockingUnaryCall(channel, SAY, options, text));
    } catch (StatusRuntimeException e) {
      answer.addProperty("error", e.getStatus().getCode().name());
      answer.addProperty("message", e.getStatus().getDescription());
    }
    return answer;
  }
}
