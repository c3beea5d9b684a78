//! Finds the xDS variants that a server supports, with one request on each stream and no ACK or
//! NACK.

use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tonic::metadata::MetadataMap;
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::{DoctorStep, State};
use crate::net::{dial, rpc};
use xdscope_wire::MessageShape;
use xdscope_wire::discovery::encode::RequestFields;
use xdscope_wire::discovery::fields::DiscoveryField;
use xdscope_wire::event::{ApiVersion, Kind, Method, Variant};
use xdscope_wire::pb::Fields;

/// The time after which a stream without a response or an error counts as open.
const OPEN_AFTER: Duration = Duration::from_secs(1);

/// A resource name that no server has, for types without a wildcard.
const UNKNOWN_NAME: &str = "xdscope-doctor";

const VARIANTS: [Variant; 4] = [Variant::Ads, Variant::DeltaAds, Variant::Sotw, Variant::Delta];

/// The result of opening a stream.
enum StreamResult {
    /// Responses, as type and number of resources, and the time until the first one.
    Answers(Vec<(Kind, usize)>, Duration),
    /// Neither a response nor an error.
    Open,
    Refused(Status),
}

/// The result of one stream of a variant.
struct VariantResult {
    /// The position in [`VARIANTS`].
    variant: usize,
    /// The types requested on the stream.
    kinds: Vec<Kind>,
    result: StreamResult,
}

/// Adds a step for each variant.
pub(super) async fn ask(
    channel: &Channel,
    metadata: &MetadataMap,
    node: &[u8],
    limit: Duration,
) -> Vec<DoctorStep> {
    let mut streams = JoinSet::new();
    for (at, variant) in VARIANTS.into_iter().enumerate() {
        let alone = Kind::all().map(|kind| vec![kind]);
        let kinds = if variant.is_aggregated() { vec![vec![Kind::Lds, Kind::Cds]] } else { alone.collect() };
        for kinds in kinds {
            let Some(path) = Method::path(variant, kinds.first().copied(), ApiVersion::V3) else { continue };
            let requests: Vec<Bytes> =
                kinds.iter().filter_map(|kind| request(variant, *kind, node)).collect();
            let (channel, metadata) = (channel.clone(), metadata.clone());
            streams.spawn(async move {
                let limit = limit.min(OPEN_AFTER);
                let result = stream(channel, &path, variant, metadata, requests, limit).await;
                VariantResult { variant: at, kinds, result }
            });
        }
    }
    let mut results = streams.join_all().await;
    results.sort_by_key(|result| (result.variant, result.kinds.first().copied()));
    let results_of = |at: usize| results.iter().filter(move |result| result.variant == at);
    VARIANTS.into_iter().enumerate().map(|(at, variant)| step(variant, results_of(at))).collect()
}

fn request(variant: Variant, kind: Kind, node: &[u8]) -> Option<Bytes> {
    // The wildcard of listeners and clusters: no name in SotW, `*` in delta.
    let name = if kind.full_state() { variant.is_delta().then_some("*") } else { Some(UNKNOWN_NAME) };
    let type_url = kind.type_url(ApiVersion::V3)?;
    let fields = RequestFields {
        node: Some(node),
        type_url: type_url.as_str(),
        names: name.into_iter().collect(),
        ..RequestFields::default()
    };
    Some(fields.encode(variant.is_delta()).into())
}

async fn stream(
    channel: Channel,
    path: &str,
    variant: Variant,
    metadata: MetadataMap,
    first_requests: Vec<Bytes>,
    limit: Duration,
) -> StreamResult {
    let start = Instant::now();
    let (mut received, mut first) = (Vec::new(), Duration::ZERO);
    let wanted = first_requests.len();
    let exchange = async {
        let (requests, ready) = mpsc::channel(wanted.max(1));
        for request in first_requests {
            // The receiver is held until the stream has been examined.
            let _ = requests.send(request).await;
        }
        let mut responses = rpc::open_with(channel, path, metadata, ready).await?;
        while received.len() < wanted {
            let Some(bytes) = responses.message().await? else { break };
            if received.is_empty() {
                first = start.elapsed();
            }
            received.extend(response(variant, &bytes));
        }
        // Dropped last, so that the server does not see the client leave.
        drop(requests);
        Ok(())
    };
    match tokio::time::timeout(limit, exchange).await {
        Ok(Err(status)) if received.is_empty() => StreamResult::Refused(status),
        _ if received.is_empty() => StreamResult::Open,
        _ => StreamResult::Answers(received, first),
    }
}

/// Returns the type of a response and the number of its resources.
fn response(variant: Variant, bytes: &[u8]) -> Option<(Kind, usize)> {
    let shape = if variant.is_delta() { MessageShape::DeltaResponse } else { MessageShape::SotwResponse };
    let fields = |wanted: DiscoveryField| {
        let fields = Fields::new(bytes).map_while(Result::ok);
        fields.filter(move |field| DiscoveryField::of(shape, field.number) == Some(wanted))
    };
    let (kind, _) = Kind::of_type_url(&fields(DiscoveryField::TypeUrl).next()?.text())?;
    Some((kind, fields(DiscoveryField::Resources).count()))
}

fn step<'a>(variant: Variant, results: impl Iterator<Item = &'a VariantResult>) -> DoctorStep {
    let (mut answers, mut open, mut none) = (Vec::new(), Vec::new(), Vec::new());
    let (mut refused, mut took) = (Vec::new(), None);
    for VariantResult { kinds, result, .. } in results {
        let words = kinds.iter().map(|kind| kind.word().to_owned());
        match result {
            StreamResult::Answers(found, first) => {
                let mut found = found.clone();
                found.sort();
                answers.extend(found.into_iter().map(|(kind, count)| format!("{} {count}", kind.word())));
                took = Some(took.map_or(*first, |took: Duration| took.min(*first)));
            }
            StreamResult::Open => open.extend(words),
            StreamResult::Refused(status) if status.code() == Code::Unimplemented => none.extend(words),
            StreamResult::Refused(status) => {
                let code = xdscope_wire::event::Code(status.code().into());
                let text = format!("{code}: {}", dial::causes(status));
                if !refused.contains(&text) {
                    refused.push(text);
                }
            }
        }
    }
    let state = if !answers.is_empty() || !open.is_empty() {
        State::Ok
    } else if refused.is_empty() {
        State::None
    } else {
        State::Failed
    };
    let mut lines = Vec::new();
    if !answers.is_empty() {
        lines.push(format!("answers: {}", answers.join(", ")));
    }
    if !open.is_empty() {
        lines.push(format!("open, without an answer: {}", open.join(" ")));
    }
    if !none.is_empty() && state != State::None {
        lines.push(format!("not there: {}", none.join(" ")));
    }
    let denied = refused.iter().any(|text| text.starts_with("UNAUTH") || text.starts_with("PERMISSION"));
    lines.extend(refused);
    if state == State::None {
        lines.push("not there (UNIMPLEMENTED)".into());
    }
    let next = denied.then(|| "-H 'authorization: Bearer TOKEN'".to_owned());
    DoctorStep { name: variant.word(), state, lines, took, next }
}
