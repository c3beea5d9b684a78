use xdscope_schema::list_violations;
use xdscope_wire::ErrorDetail;
use xdscope_wire::content::{Catalog, List};
use xdscope_wire::event::{Sym, TypeUrl};

use crate::session::{Context, key, nameless};

const INVALID_ARGUMENT: i32 = 3;

/// Returns why a client rejects the resources of a file: a repeated name, a resource of another
/// type, or a violated constraint (docs/protocol.md#c-06). The previous resources stay in force
/// (docs/protocol.md#c-05).
pub(crate) fn rejection(
    ctx: &Context<'_>,
    url: &TypeUrl,
    list: &List,
    duplicates: &[Sym],
) -> Option<ErrorDetail> {
    let catalog: &Catalog = ctx.catalog;
    let other = list.blobs().iter().find_map(|id| {
        let entry = catalog.entry(*id);
        let type_url = catalog.text(entry.type_url);
        let wrong = entry.payload.is_some() && !type_url.is_empty() && type_url != url.as_str();
        wrong.then(|| format!("{}: type {type_url} in a response of {url}", catalog.text(key(catalog, *id))))
    });
    let duplicates = duplicates
        .iter()
        .find(|name| nameless(**name).is_none())
        .map(|name| format!("{}: duplicate resource name", catalog.text(*name)));
    let broken = || {
        list.blobs().iter().find_map(|id| {
            let bytes = catalog.bytes(catalog.entry(*id).payload?)?;
            let broken = ctx.validator?.broken(&bytes);
            let name = catalog.text(key(catalog, *id));
            (!broken.is_empty()).then(|| format!("{name}: {}", list_violations(&broken)))
        })
    };
    let message = duplicates.or(other).or_else(broken)?;
    Some(ErrorDetail { code: INVALID_ARGUMENT, message: message.into(), details: Vec::new() })
}
