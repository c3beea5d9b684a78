use std::net::{IpAddr, SocketAddr};

use etherparse::{IpNumber, LaxIpSlice, TcpSlice};

/// What of TCP a packet holds.
pub(super) enum Content<'a> {
    Segment(Segment<'a>),
    /// A part of an IP packet, which is not put together.
    Fragment,
    /// Its headers can't be read, or were not captured.
    Damaged,
    /// No TCP.
    Other,
    /// Of a link layer that is not known here.
    UnknownLink,
}

/// A segment of TCP.
pub(super) struct Segment<'a> {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) seq: u32,
    pub(super) ack: Option<u32>,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    pub(super) bytes: &'a [u8],
    /// Bytes behind them that were not captured.
    pub(super) missing: u32,
}

/// What stands behind the link layer.
enum Network<'a> {
    Ip(&'a [u8]),
    Other,
    Damaged,
    Unknown,
}

/// Takes a packet apart. `missing`: bytes of it that were not captured.
pub(super) fn read(link: i32, bytes: &[u8], missing: u32) -> Content<'_> {
    let bytes = match network(link, bytes) {
        Network::Ip(bytes) => bytes,
        Network::Other => return Content::Other,
        Network::Damaged => return Content::Damaged,
        Network::Unknown => return Content::UnknownLink,
    };
    let Ok((ip, _)) = LaxIpSlice::from_slice(bytes) else { return Content::Damaged };
    let payload = ip.payload();
    if payload.ip_number != IpNumber::TCP {
        return Content::Other;
    }
    if payload.fragmented {
        return Content::Fragment;
    }
    let Ok(tcp) = TcpSlice::from_slice(payload.payload) else { return Content::Damaged };
    let address = |ip: IpAddr, port| SocketAddr::new(ip.to_canonical(), port);
    Content::Segment(Segment {
        from: address(ip.source_addr(), tcp.source_port()),
        to: address(ip.destination_addr(), tcp.destination_port()),
        seq: tcp.sequence_number(),
        ack: tcp.ack().then(|| tcp.acknowledgment_number()),
        syn: tcp.syn(),
        fin: tcp.fin(),
        rst: tcp.rst(),
        bytes: tcp.payload(),
        missing: if payload.incomplete { missing } else { 0 },
    })
}

fn network(link: i32, bytes: &[u8]) -> Network<'_> {
    match link {
        // NULL and LOOP: a number of the address family, which is not the same everywhere.
        0 | 108 => match (bytes.first_chunk::<4>(), bytes.get(4..)) {
            (
                Some(
                    [2, 0, 0, 0] | [0, 0, 0, 2] | [10 | 24 | 28 | 30, 0, 0, 0] | [0, 0, 0, 10 | 24 | 28 | 30],
                ),
                Some(rest),
            ) => Network::Ip(rest),
            (Some(_), _) => Network::Other,
            (None, _) => Network::Damaged,
        },
        // ETHERNET.
        1 => ether_type(bytes, 12),
        // RAW in its three numbers, IPV4 and IPV6.
        12 | 14 | 101 | 228 | 229 => Network::Ip(bytes),
        // LINUX_SLL.
        113 => ether_type(bytes, 14),
        // LINUX_SLL2: the type comes first.
        276 => match (bytes.first_chunk::<2>(), bytes.get(20..)) {
            (Some(kind), Some(rest)) => typed(u16::from_be_bytes(*kind), rest),
            _ => Network::Damaged,
        },
        _ => Network::Unknown,
    }
}

/// The EtherType at this place, with what follows it.
fn ether_type(bytes: &[u8], at: usize) -> Network<'_> {
    match bytes.get(at..).and_then(|rest| rest.split_first_chunk::<2>()) {
        Some((kind, rest)) => typed(u16::from_be_bytes(*kind), rest),
        None => Network::Damaged,
    }
}

fn typed(kind: u16, bytes: &[u8]) -> Network<'_> {
    match kind {
        0x0800 | 0x86dd => Network::Ip(bytes),
        // Tags of VLANs: two bytes, then a type again. Each takes four, so they come to an end.
        0x8100 | 0x88a8 | 0x9100 => ether_type(bytes, 2),
        _ => Network::Other,
    }
}
