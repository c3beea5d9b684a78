//! A picture of screen 0, which only a live tap can fill.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use xdscope_engine::hold::{HeldFact, HeldId};
use xdscope_engine::hold::{HeldRow, HoldStatus};
use xdscope_engine::store::{Options, SchemaSemantics, Store};
use xdscope_schema::Schema;
use xdscope_sources::{SchemaCodec, script};
use xdscope_tui::Decoded;
use xdscope_tui::{
    self, ColorDepth, Data, Feed, FeedError, HeldMessage, Info, NamedTheme, PictureOptions, ScreenId, Seek,
    StoreData, SvgColors, Theme,
};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Dir, StreamId};
use xdscope_wire::{Frame, FramePayload, Interference, Intervention, InterventionFacts, MessageShape};

const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

/// A tap that holds two pushes to a client of a script.
struct Holding {
    store: Store,
    bodies: Decoded,
    status: Arc<HoldStatus>,
}

impl Feed for Holding {
    fn read(&self, with: &mut dyn FnMut(&dyn Data)) {
        with(&StoreData { store: &self.store, findings: &[], bodies: &self.bodies, applied: None });
    }

    fn revision(&self) -> u64 {
        1
    }

    fn info(&self) -> Info {
        Info {
            source: "tap 127.0.0.1:18001 → cp.mesh:15010".to_owned(),
            recording: Some(("session.xdsrec".to_owned(), 12_600_000)),
            hold: Some(self.status.clone()),
            ..Info::default()
        }
    }

    fn replay(&self, _: Option<HeldMessage>, _: Seek) -> Result<(), FeedError> {
        Ok(())
    }

    fn save_copy(&self, _: &str) -> std::io::Result<String> {
        Ok(String::new())
    }
}

impl Holding {
    fn new(script: &str) -> Holding {
        let schema = Schema::builtin();
        let text = std::fs::read_to_string(script).expect("a script");
        let parsed = script::parse(&text, script).expect("a script");
        let loaded = script::load_into(&parsed, &SchemaCodec(schema.clone()), Catalog::in_memory());
        let loaded = loaded.expect("content");
        let mut store = Store::new(loaded.catalog, loaded.clock, Options::default());
        store.set_meaning(Arc::new(SchemaSemantics::new(schema.clone())));
        loaded.frames.into_iter().for_each(|frame| store.handle(frame));
        let held: Vec<HeldRow> = [
            row(&schema, (1, None), ("43", "a822"), ("1s", 2048), 4200),
            row(&schema, (2, Some(1)), ("44", "a823"), ("1s", 4096), 1100),
        ]
        .into();
        for row in &held {
            let facts = InterventionFacts {
                interference: Interference::Held,
                dir: Dir::Resp,
                is_delta: false,
                type_url: CLUSTER.into(),
                version: row.fact.version.clone(),
                nonce: row.fact.nonce.clone(),
                by: row.fact.id.by().into(),
            };
            let what = Intervention { facts, original: None, sent: None, sent_dir: Dir::Resp };
            let what = FramePayload::Intercepted(Box::new(what));
            store.handle(Frame { at: store.now(), stream: StreamId(1), what });
        }
        let status = HoldStatus {
            armed: Some("type:cds dir:resp node:edge-gw-1".into()),
            timeout: Duration::from_secs(30),
            streams: 1,
            passing: 0,
            released: 0,
            held,
        };
        Holding { store, bodies: Decoded(schema), status: Arc::new(status) }
    }
}

/// Builds a held push of clusters. The first numbers are its own and that of the one before.
fn row(
    schema: &Schema,
    (id, waits_for): (u64, Option<u64>),
    (version, nonce): (&str, &str),
    (timeout, connections): (&str, u64),
    age: u64,
) -> HeldRow {
    let eds = json!({ "ads": {}, "resource_api_version": "V3" });
    let cluster = |name: &str, service: &str| {
        json!({
            "@type": CLUSTER, "name": name, "type": "EDS",
            "eds_cluster_config": { "eds_config": eds, "service_name": service },
        })
    };
    let mut reviews = cluster("reviews", "reviews.default");
    reviews["connect_timeout"] = timeout.into();
    reviews["lb_policy"] = "LEAST_REQUEST".into();
    reviews["circuit_breakers"] = json!({ "thresholds": [{ "max_connections": connections }] });
    let resources = [cluster("cart", ""), reviews, cluster("search", ""), cluster("ledger-v2", "")];
    let push = json!({
        "version_info": version, "nonce": nonce, "type_url": CLUSTER, "resources": resources,
    });
    let bytes = schema.encode("envoy.service.discovery.v3.DiscoveryResponse", &push).expect("a push");
    let fact = HeldFact {
        id: HeldId(id),
        shape: MessageShape::SotwResponse,
        is_v2: false,
        type_url: CLUSTER.into(),
        version: version.into(),
        nonce: nonce.into(),
        node: Some("edge-gw-1".into()),
        count: 4,
        bytes: bytes.into(),
    };
    HeldRow {
        fact: Arc::new(fact),
        age: Duration::from_millis(age),
        left: Duration::from_millis(30_000 - age),
        waits_for: waits_for.map(HeldId),
        is_edited: false,
    }
}

/// Draws the screen as `xdscope picture` draws the others.
pub fn picture(script: &str, size: &str, theme: &str) -> String {
    let (columns, rows) = size.split_once('x').expect("a size");
    let is_light = theme == "light";
    let named = if is_light { NamedTheme::LIGHT } else { NamedTheme::DARK };
    let options = PictureOptions {
        screen: ScreenId::Hold,
        size: (columns.parse().expect("columns"), rows.parse().expect("rows")),
        theme: Theme { palette: named.palette(ColorDepth::True), ascii: false },
        zone: jiff::tz::TimeZone::UTC,
        keys: Vec::new(),
    };
    let frame = xdscope_tui::picture(&Holding::new(script), &options);
    let colors = if is_light { SvgColors::light() } else { SvgColors::dark() };
    xdscope_tui::svg(&frame, &colors, "xdscope, screen Hold of a tap")
}
