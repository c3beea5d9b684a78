use core::net::{IpAddr, SocketAddr};

use etherparse::{IpNumber, LaxIpSlice, TcpSlice};

/// The TCP content of a packet.
pub(super) enum PacketContent<'a> {
    Segment(Segment<'a>),
    /// A fragment of an IP packet. Fragments are not reassembled.
    Fragment,
    /// The headers are damaged or were not captured.
    Damaged,
    /// Not TCP.
    Other,
    /// A packet of an unsupported link layer.
    UnknownLink,
}

/// A TCP segment.
pub(super) struct Segment<'a> {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) seq: u32,
    pub(super) ack: Option<u32>,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    pub(super) bytes: &'a [u8],
    /// The number of bytes behind `bytes` that were not captured.
    pub(super) missing: u32,
}

/// The content of a link layer frame.
enum LinkPayload<'a> {
    Ip(&'a [u8]),
    Other,
    Damaged,
    Unknown,
}

/// Parses a packet of which `missing` bytes were not captured.
pub(super) fn read(link: i32, bytes: &[u8], missing: u32) -> PacketContent<'_> {
    let bytes = match network(link, bytes) {
        LinkPayload::Ip(bytes) => bytes,
        LinkPayload::Other => return PacketContent::Other,
        LinkPayload::Damaged => return PacketContent::Damaged,
        LinkPayload::Unknown => return PacketContent::UnknownLink,
    };
    let Ok((ip, _)) = LaxIpSlice::from_slice(bytes) else { return PacketContent::Damaged };
    let payload = ip.payload();
    if payload.ip_number != IpNumber::TCP {
        return PacketContent::Other;
    }
    if payload.fragmented {
        return PacketContent::Fragment;
    }
    let Ok(tcp) = TcpSlice::from_slice(payload.payload) else { return PacketContent::Damaged };
    let address = |ip: IpAddr, port| SocketAddr::new(ip.to_canonical(), port);
    PacketContent::Segment(Segment {
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

/// Returns the IP packet in a packet of a link type.
fn network(link: i32, bytes: &[u8]) -> LinkPayload<'_> {
    match link {
        // NULL and LOOP: an address family, whose number and byte order depend on the system.
        0 | 108 => match (bytes.first_chunk::<4>(), bytes.get(4..)) {
            (
                Some(
                    [2, 0, 0, 0] | [0, 0, 0, 2] | [10 | 24 | 28 | 30, 0, 0, 0] | [0, 0, 0, 10 | 24 | 28 | 30],
                ),
                Some(rest),
            ) => LinkPayload::Ip(rest),
            (Some(_), _) => LinkPayload::Other,
            (None, _) => LinkPayload::Damaged,
        },
        // ETHERNET.
        1 => ether_type(bytes, 12),
        // RAW with its three numbers, IPV4 and IPV6.
        12 | 14 | 101 | 228 | 229 => LinkPayload::Ip(bytes),
        // LINUX_SLL.
        113 => ether_type(bytes, 14),
        // LINUX_SLL2 has the type first.
        276 => match (bytes.first_chunk::<2>(), bytes.get(20..)) {
            (Some(kind), Some(rest)) => typed(u16::from_be_bytes(*kind), rest),
            _ => LinkPayload::Damaged,
        },
        _ => LinkPayload::Unknown,
    }
}

/// Parses the EtherType at this offset and what follows.
fn ether_type(bytes: &[u8], at: usize) -> LinkPayload<'_> {
    match bytes.get(at..).and_then(|rest| rest.split_first_chunk::<2>()) {
        Some((kind, rest)) => typed(u16::from_be_bytes(*kind), rest),
        None => LinkPayload::Damaged,
    }
}

/// Returns the payload of an Ethernet type, without its VLAN tags.
fn typed(kind: u16, bytes: &[u8]) -> LinkPayload<'_> {
    match kind {
        0x0800 | 0x86dd => LinkPayload::Ip(bytes),
        // VLAN tags: two bytes, then another EtherType. Each tag takes four bytes, so recursion
        // ends.
        0x8100 | 0x88a8 | 0x9100 => ether_type(bytes, 2),
        _ => LinkPayload::Other,
    }
}
