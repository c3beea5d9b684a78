//! Structured (`xdstp:`) names: their form on the wire, and the resources that they lead to.

use xdscope_wire::discovery::fields::any;
use xdscope_wire::event::TYPE_PREFIX;
use xdscope_wire::pb::Fields;
use xdscope_wire::xdstp::{is_structured, locator};

/// Consecutive redirects that are followed (docs/protocol.md#k-27).
pub(super) const MAX_REDIRECTS: u8 = 8;

/// The resources that the form of a resource leads to, apart from references in its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeadsTo {
    /// A redirect to a URL (docs/protocol.md#k-27).
    To(String),
    /// A list: the locators of its members (docs/protocol.md#k-13), and the `Any` of each inline
    /// member (docs/protocol.md#k-14).
    List { locators: Vec<String>, inline: Vec<Vec<u8>> },
}

/// Returns the redirect or the list in an `Any`; `None` for any other resource.
pub(super) fn leads(payload: &[u8]) -> Option<LeadsTo> {
    let (mut url, mut value) = (String::new(), Vec::new());
    for field in Fields::new(payload).map_while(Result::ok) {
        match field.number {
            any::TYPE_URL => url = field.text().into_owned(),
            any::VALUE => value = field.bytes().to_vec(),
            _ => {}
        }
    }
    let message = url.strip_prefix(TYPE_PREFIX)?;
    if message == locator::MESSAGE {
        return locator::uri(&value).map(LeadsTo::To);
    }
    message.strip_suffix("Collection")?;
    let (mut locators, mut inline) = (Vec::new(), Vec::new());
    for entry in Fields::new(&value).map_while(Result::ok).filter(|field| field.number == 1) {
        for arm in Fields::new(entry.bytes()).map_while(Result::ok) {
            match arm.number {
                1 => locators.extend(locator::entry_uri(arm.bytes())),
                2 => {
                    let parts = Fields::new(arm.bytes()).map_while(Result::ok);
                    inline.extend(parts.filter(|part| part.number == 3).map(|part| part.bytes().to_vec()));
                }
                _ => {}
            }
        }
    }
    Some(LeadsTo::List { locators, inline })
}

/// Whether a name is structured.
pub(super) fn is_structured_name(name: &str) -> bool {
    is_structured(name)
}
