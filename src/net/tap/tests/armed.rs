use super::*;
use xdscope_sources::peers::intercept::FaultSet;

const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

/// The time in which a connection without progress has ended.
const STALL_PATIENCE: Duration = Duration::from_secs(25);

/// Returns a connection with one request for clusters, of which a name has `size` bytes.
fn connection(size: u32) -> Vec<u8> {
    let fields = [(":method", "POST"), (":path", ADS), ("content-type", "application/grpc")];
    let field = |(name, value): (&str, &str)| {
        [&[0, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
    };
    let headers: Vec<u8> = fields.into_iter().flat_map(field).collect();
    let mut request = [&[0x22, CDS.len() as u8], CDS.as_bytes(), &[0x1a]].concat();
    // The length of the name, in three bytes.
    request.extend([size as u8 | 0x80, (size >> 7) as u8 | 0x80, (size >> 14) as u8]);
    request.resize(request.len() + size as usize, b'x');
    let message = [&[0][..], &(request.len() as u32).to_be_bytes(), &request].concat();
    let data = message.chunks(16 << 10).flat_map(|part| frame(0, 0, 1, part));
    [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 4, 1, &headers)].concat().into_iter().chain(data).collect()
}

fn armed_tap(upstream: &TcpListener, fault: &str) -> Tap {
    let arms = Arms {
        faults: FaultSet::parse([fault], 0).unwrap().into(),
        desk: None,
        schema: xdscope_schema::Schema::builtin(),
        memory: 32 << 20,
    };
    let upstream = upstream.local_addr().unwrap().to_string();
    let plain = config("127.0.0.1:0".parse().unwrap(), upstream.parse().unwrap());
    Tap::start(Config { arms: Some(arms), ..plain }).unwrap()
}

/// Sends a request through an armed tap. Returns both ends once the server has got `at_least`
/// bytes.
fn request(tap: &Tap, listener: &TcpListener, size: u32, at_least: usize) -> (TcpStream, TcpStream) {
    let mut client = dial(tap);
    client.write_all(&connection(size)).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server.set_read_timeout(Some(TIMEOUT)).unwrap();
    server.write_all(&frame(4, 0, 0, &[])).unwrap();
    let (mut seen, mut buffer) = (0, vec![0; 64 << 10]);
    while seen < at_least {
        let read = server.read(&mut buffer).unwrap();
        assert!(read > 0, "the server sees an end after {seen} bytes");
        seen += read;
    }
    (client, server)
}

/// Ends both directions, and waits until the tap has closed the connection.
fn end_both(mut ends: [TcpStream; 2]) {
    ends.iter().for_each(|end| end.shutdown(Shutdown::Write).unwrap());
    for end in &mut ends {
        end.read_to_end(&mut Vec::new()).expect("the tap ends the connection");
    }
}

#[test]
fn armed_connection_ends_with_a_request_that_waits_for_window() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tap = armed_tap(&listener, "type:eds => drop");
    let (client, server) = request(&tap, &listener, 200_000, 60_000);
    end_both([client, server]);
}

#[test]
fn armed_connection_ends_with_a_message_that_is_delayed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tap = armed_tap(&listener, "type:cds => delay 1h");
    let (client, server) = request(&tap, &listener, 10, PREFACE.len());
    end_both([client, server]);
}

#[test]
fn armed_connection_ends_if_the_server_takes_no_more_of_a_client_that_has_gone() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tap = armed_tap(&listener, "type:eds => drop");
    let (client, mut server) = request(&tap, &listener, 200_000, 60_000);
    client.shutdown(Shutdown::Write).unwrap();
    server.set_read_timeout(Some(STALL_PATIENCE)).unwrap();
    let end = server.read_to_end(&mut Vec::new());
    let is_reset = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
    assert!(end.as_ref().map_or_else(is_reset, |_| true), "{end:?}");
}

/// A stream that is reset before its first request is forgotten: many of them do not keep a later
/// one from being armed.
#[test]
fn streams_after_many_that_were_reset_are_armed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tap = armed_tap(&listener, "type:cds => status UNAVAILABLE no");
    let mut client = dial(&tap);
    let start = connection(10);
    // The stream number of each frame but the settings.
    let headers_at = PREFACE.len() + 9;
    let headers_len = 9 + usize::from(start[headers_at + 2]);
    let headers = &start[headers_at..headers_at + headers_len];
    let renumber = |frame: &[u8], stream: u32| [&frame[..5], &stream.to_be_bytes(), &frame[9..]].concat();
    let mut bytes = start[..headers_at].to_vec();
    for stream in (1..6_001).step_by(2) {
        bytes.extend(renumber(headers, stream));
        bytes.extend(frame(3, 0, stream, &[0, 0, 0, 8]));
    }
    bytes.extend(renumber(headers, 6_001));
    bytes.extend(renumber(&start[headers_at + headers_len..], 6_001));
    client.write_all(&bytes).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server.write_all(&frame(4, 0, 0, &[])).unwrap();
    std::thread::spawn(move || server.read_to_end(&mut Vec::new()));
    let mut answer = Vec::new();
    while !answer.windows(b"grpc-status".len()).any(|part| part == b"grpc-status") {
        let mut part = [0; 1024];
        let read = client.read(&mut part).expect("the status of the fault");
        assert!(read > 0, "the status of the fault");
        answer.extend_from_slice(&part[..read]);
    }
}
