//! Steps as the frames that the engine reads.

use std::sync::Arc;
use std::time::Duration;
use xdscope_wire::GapCause;

use xdscope_wire::content::{Catalog, List};
use xdscope_wire::event::{ApiVersion, Kind, StreamId, Sym, Time, TypeUrl, VersionInfo};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{
    DeltaRequest, DeltaResponse, ErrorDetail, Frame, FramePayload, Message, MessageBody, MessageShape, Open,
    SotwRequest, SotwResponse,
};

use super::script::{Ask, Entry, Push, Step, StepEvent, Text};

const KINDS: [Kind; 3] = [Kind::Cds, Kind::Eds, Kind::Rds];
const SERVICE: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/";

pub(super) fn type_url(kind: usize) -> TypeUrl {
    KINDS[kind].type_url(ApiVersion::V3).expect("a v3 type")
}

pub(super) fn stream_id(stream: usize) -> StreamId {
    StreamId(u32::try_from(stream).expect("few streams") + 1)
}

pub(super) fn time(millis: u64) -> Time {
    Time::ZERO.after(Duration::from_millis(millis))
}

/// The frame of a step. `delta`: the stream is a delta stream.
pub(super) fn frame(catalog: &mut Catalog, step: &Step, now: u64, delta: bool) -> Frame {
    let message = |shape, body| {
        let message = Message { shape, segments: Vec::new(), size: 0, redacted: false, body };
        FramePayload::Message(Arc::new(message))
    };
    let what = match &step.event {
        StepEvent::Open { delta, partial } => {
            let name = if *delta { "DeltaAggregatedResources" } else { "StreamAggregatedResources" };
            let method = format!("{SERVICE}{name}");
            FramePayload::Open(Box::new(Open { method, partial: *partial, ..Open::default() }))
        }
        StepEvent::Request { kind, ask } if delta => {
            message(MessageShape::DeltaRequest, delta_request(catalog, *kind, ask))
        }
        StepEvent::Request { kind, ask } => {
            message(MessageShape::SotwRequest, sotw_request(catalog, *kind, ask))
        }
        StepEvent::Response { kind, push } if delta => {
            message(MessageShape::DeltaResponse, delta_response(catalog, *kind, push))
        }
        StepEvent::Response { kind, push } => {
            message(MessageShape::SotwResponse, sotw_response(catalog, *kind, push))
        }
        StepEvent::Gap => FramePayload::Gap { dir: None, messages: 1, bytes: 1, cause: GapCause::Lost },
        StepEvent::Close => FramePayload::End(Box::default()),
    };
    Frame { at: time(now), stream: stream_id(step.stream), what }
}

fn syms(catalog: &mut Catalog, names: &[Text]) -> Vec<Sym> {
    names.iter().map(|name| catalog.intern(name)).collect()
}

fn error(ask: &Ask) -> Option<Box<ErrorDetail>> {
    ask.error.then(|| Box::new(ErrorDetail { code: 3, message: Arc::from("bad"), ..ErrorDetail::default() }))
}

fn sotw_request(catalog: &mut Catalog, kind: usize, ask: &Ask) -> MessageBody {
    MessageBody::SotwRequest(SotwRequest {
        version_info: VersionInfo::from(ask.version),
        resource_names: syms(catalog, &ask.names).into(),
        type_url: type_url(kind),
        response_nonce: ask.nonce.into(),
        error_detail: error(ask),
        ..SotwRequest::default()
    })
}

fn delta_request(catalog: &mut Catalog, kind: usize, ask: &Ask) -> MessageBody {
    let claims = ask.claims.iter().map(|(name, version)| (catalog.intern(name), catalog.intern(version)));
    let initial_resource_versions = claims.collect();
    MessageBody::DeltaRequest(DeltaRequest {
        subscribe: syms(catalog, &ask.names).into(),
        unsubscribe: syms(catalog, &ask.unsubscribe).into(),
        initial_resource_versions,
        type_url: type_url(kind),
        response_nonce: ask.nonce.into(),
        error_detail: error(ask),
        ..DeltaRequest::default()
    })
}

fn sotw_response(catalog: &mut Catalog, kind: usize, push: &Push) -> MessageBody {
    MessageBody::SotwResponse(SotwResponse {
        version_info: VersionInfo::from(push.version),
        resources: resources(catalog, kind, push, false),
        canary: false,
        type_url: type_url(kind),
        nonce: push.nonce.into(),
        control_plane: None,
        resource_errors: Vec::new(),
        unknown_fields: Vec::new(),
    })
}

fn delta_response(catalog: &mut Catalog, kind: usize, push: &Push) -> MessageBody {
    MessageBody::DeltaResponse(DeltaResponse {
        system_version_info: VersionInfo::from(push.version),
        resources: resources(catalog, kind, push, true),
        type_url: type_url(kind),
        nonce: push.nonce.into(),
        removed: syms(catalog, &push.removed),
        control_plane: None,
        resource_errors: Vec::new(),
        unknown_fields: Vec::new(),
    })
}

fn resources(catalog: &mut Catalog, kind: usize, push: &Push, delta: bool) -> Arc<List> {
    let bytes = push.entries.iter().map(|entry| resource(kind, entry, delta));
    let blobs = bytes.map(|bytes| catalog.intern_entry(&bytes, delta, None)).collect();
    catalog.intern_list(blobs)
}

/// An entry: its name, and a content that differs by one byte.
fn resource(kind: usize, entry: &Entry, delta: bool) -> Vec<u8> {
    const CONTENT_FIELD: u32 = 200;
    let (mut payload, mut any) = (Vec::new(), Vec::new());
    put_len_field(&mut payload, 1, entry.name.as_bytes());
    put_len_field(&mut payload, CONTENT_FIELD, &[entry.content]);
    put_len_field(&mut any, 1, type_url(kind).as_str().as_bytes());
    put_len_field(&mut any, 2, &payload);
    if !delta {
        return any;
    }
    let mut wrapper = Vec::new();
    put_len_field(&mut wrapper, 3, entry.name.as_bytes());
    put_len_field(&mut wrapper, 1, entry.version.as_bytes());
    put_len_field(&mut wrapper, 2, &any);
    wrapper
}
