//! The built-in descriptor sets.
//!
//! Their files are loaded when a message is needed. The sets are never dropped, because dropping a
//! pool takes noticeably long.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::descriptors::Descriptors;
use super::pool::Pool;

/// The packages whose `.proto` files the sets are compiled from, with their versions.
///
/// Descriptors of other versions may have other constraints (docs/protocol.md#j-05).
pub const PACKAGES: [(&str, &str); 2] = [("envoy-types", "0.7.7"), ("data-plane-api", "0.1.1")];

static V3: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/v3.zst"));
static V2: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/v2.zst"));
static DOCS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/docs.zst"));

/// Returns the v3 API with xds, udpa, contrib and their imports. Loads no file.
pub(crate) fn v3() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| load(V3))
}

/// Returns the v2 API, with all of its imports. Loads no file.
pub(crate) fn v2() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| load(V2))
}

/// Whether a built-in message has this name and can hold a secret.
pub(crate) fn can_hold_secret(name: &str) -> bool {
    let holds = |pool: &Pool| pool.index_of(name).map(|place| pool.can_hold_secret(place));
    // Only the Envoy API has a v2.
    holds(v3()).or_else(|| name.starts_with("envoy.").then(v2).and_then(holds)).unwrap_or(false)
}

/// Decompresses data from the build script. Empty only if the executable is damaged.
pub(crate) fn unpack(packed: &[u8]) -> Vec<u8> {
    zstd::stream::decode_all(packed).unwrap_or_default()
}

fn load(packed: &[u8]) -> Pool {
    Pool::new(Arc::new(Descriptors::of_set(unpack(packed))))
}

/// Returns the leading comments by full name. Enum values are named inside their enum.
pub(crate) fn docs() -> &'static HashMap<&'static str, &'static str> {
    static TEXT: OnceLock<String> = OnceLock::new();
    static MAP: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    MAP.get_or_init(|| {
        let text = TEXT.get_or_init(|| String::from_utf8(unpack(DOCS)).unwrap_or_default());
        let mut parts = text.split('\0');
        std::iter::from_fn(|| Some((parts.next()?, parts.next()?))).collect()
    })
}
