//! Transport variants in words.

use xdscope_wire::event::Variant;

pub(crate) fn variant_words(variant: Option<Variant>) -> &'static str {
    match variant {
        Some(Variant::Ads) => "ADS, state of the world",
        Some(Variant::DeltaAds) => "ADS, delta",
        Some(Variant::Sotw) => "one type, state of the world",
        Some(Variant::Delta) => "one type, delta",
        Some(Variant::Rest) => "REST polling",
        Some(Variant::File) => "a file",
        Some(Variant::Dump) => "what a client has applied",
        None => "no xDS subscription",
    }
}
