//! The responses to serve, and a recording of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use xdscope::app::recording::recording_file;
use xdscope_sources::record::{Header, Writer};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, StreamId, Time};
use xdscope_wire::{Frame, FramePayload, Message, MessageShape, Open};

use crate::clusters;

pub const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

#[derive(Clone, Copy)]
pub enum Load {
    /// All clusters of a mesh, and again with one of them changed.
    Large,
    /// One cluster per response.
    Small,
    /// One cluster per response, fewer responses.
    Paced,
}

impl Load {
    pub fn word(self) -> &'static str {
        match self {
            Load::Large => "large",
            Load::Small => "small",
            Load::Paced => "paced",
        }
    }

    pub fn parse(word: &str) -> Option<Load> {
        [Load::Large, Load::Small, Load::Paced].into_iter().find(|load| load.word() == word)
    }

    pub fn about(self) -> String {
        match self {
            Load::Large => "2 pushes of 100000 clusters".into(),
            Load::Small => format!("{} responses of a cluster", self.pushes().len()),
            Load::Paced => format!("{} responses of a cluster", self.pushes().len()),
        }
    }

    /// Returns the responses as gRPC messages.
    pub fn pushes(self) -> Vec<Bytes> {
        let small = |count: usize| {
            let one = |i: usize| {
                clusters::response(clusters::CLUSTER, i + 1, [clusters::cluster(i % 100, i as u64)])
            };
            (0..count).map(one).collect()
        };
        match self {
            Load::Large => vec![clusters::push(100_000, 1, 0), clusters::push(100_000, 2, 50_000)],
            Load::Small => small(20_000),
            Load::Paced => small(1_000),
        }
    }

    pub fn file(self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.xdsrec", self.word()))
    }

    /// Records a request and these responses, one each `every`.
    pub fn record(self, folder: &Path, every: Duration) {
        let header =
            Header { seed: 1, clock: Clock { epoch: Some(1 << 60), untimed: false }, ..Header::default() };
        let file = recording_file::replace(&self.file(folder)).expect("a file");
        let mut catalog = Catalog::in_memory();
        let mut writer = Writer::in_file(file, header).expect("a header");
        let mut at = Time::ZERO;
        let open = Open { method: ADS.into(), ..Open::default() };
        let request = Message::parse(
            MessageShape::SotwRequest,
            &clusters::request(clusters::CLUSTER, 0)[5..],
            &mut catalog,
        );
        for what in [FramePayload::Open(Box::new(open)), FramePayload::Message(Arc::new(request))] {
            writer.write(&Frame { at, stream: StreamId(1), what }, &catalog).expect("a disk");
        }
        for push in self.pushes() {
            at = at.after(every);
            let message = Message::parse(MessageShape::SotwResponse, &push[5..], &mut catalog);
            let what = FramePayload::Message(Arc::new(message));
            writer.write(&Frame { at, stream: StreamId(1), what }, &catalog).expect("a disk");
        }
        writer.finish().expect("a disk");
    }
}
