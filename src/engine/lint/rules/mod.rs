//! One rule, one file: its manual in its first comment, its id and severity as the catalog has them.

mod ack_skipped;
mod ads_multiple_streams;
mod ads_type_url_missing;
mod bootstrap_ads_missing;
mod bootstrap_not_v3;
mod bootstrap_xds_cluster_order;
mod break_before_make;
mod collection_form;
mod config_source_other;
mod delta_alias_collision;
mod delta_first_unsub_only;
mod delta_irv_first_stream;
mod delta_irv_late;
mod delta_irv_resent;
mod delta_legacy_notfound;
mod delta_name_payload_differs;
mod delta_nonce_missing;
mod delta_nonce_not_ack;
mod delta_phantom_unsub;
mod delta_present_and_removed;
mod delta_reconnect_irv_unsubscribed;
mod delta_redundant_resource;
mod delta_removed_unknown;
mod delta_stale_sub_ignored;
mod delta_sub_unsub_overlap;
mod delta_subscribe_unanswered;
mod delta_version_empty;
mod delta_wildcard_unsub_unanswered;
mod delta_would_save;
mod duplicate_accepted;
mod duplicate_resource_name;
mod empty_response_noop;
mod empty_treated_as_wildcard;
mod fs_format_mismatch;
mod fs_parse_error;
mod fs_partial_write;
mod fs_update_rejected;
mod full_state_flap;
mod grpc_client_needs_ads;
mod implicit_nack;
mod irv_version_surprise;
mod lds_cds_emptied;
mod message_undecodable;
mod nack;
mod nack_empty_message;
mod nack_resend_loop;
mod nack_then_plain_request;
mod nack_unexplained;
mod nack_version_refused;
mod nack_without_nonce;
mod name_not_delivered;
mod names_shrunk_on_ack;
mod new_name_not_resent;
mod node_changed;
mod node_missing;
mod nonce_reused;
mod nonce_unknown;
mod not_resubscribed;
mod old_server_misreads_nack;
mod order_eds_before_cds;
mod order_lds_before_cds;
mod order_rds_before_lds;
mod order_vhds_before_rds;
mod over_4mib;
mod pgv_violation;
mod reconnect_new_name_unsent;
mod reconnect_version_dropped;
mod regular_stream_age;
mod relay_leak;
mod relay_version_rewritten;
mod request_repeat;
mod resource_name_empty;
mod resource_version_reused;
mod response_before_request;
mod response_type_unrequested;
mod response_unanswered;
mod rest_ads;
mod rest_bad_json;
mod rest_delta;
mod rest_noncanonical;
mod rest_overlap;
mod rest_unchanged_response;
mod route_unknown_cluster;
mod sotw_answer_to_stale;
mod sotw_empty_after_named;
mod sotw_heartbeat_partial_state;
mod sotw_needless_update;
mod sotw_nonce_empty;
mod sotw_nonce_missing;
mod sotw_nonce_regression;
mod sotw_stale_nonce;
mod sotw_wrapper_unsupported;
mod stream_silent;
mod transport_v2;
mod ttl_dropped_by_update;
mod ttl_expired;
mod ttl_heartbeat_version;
mod ttl_invalid;
mod ttl_unsupported_client;
mod two_planes;
mod type_service_mismatch;
mod type_unknown;
mod type_url_malformed;
mod type_url_mismatch;
mod unexpected_fields;
mod unreferenced;
mod unrequested_resource;
mod version_churn;
mod version_static_content_changed;
mod vhds_name_form;
mod vhds_on_sotw;
mod warming_stuck;
mod wildcard_dropped_by_names;
mod wildcard_other_type;
mod xdstp_alt_without_failure;
mod xdstp_authority_unmapped;
mod xdstp_context_mismatch;
mod xdstp_directive_bad;
mod xdstp_directive_on_wire;
mod xdstp_empty_glob_silent;
mod xdstp_entry_duplicate;
mod xdstp_entry_empty;
mod xdstp_entry_name;
mod xdstp_entry_unresolved;
mod xdstp_glob_as_name;
mod xdstp_glob_bad;
mod xdstp_glob_redirected;
mod xdstp_glob_sotw;
mod xdstp_locator_not_followed;
mod xdstp_malformed;
mod xdstp_name_variant;
mod xdstp_node_dependent;
mod xdstp_redirect_loop;
mod xdstp_redirect_not_followed;
mod xdstp_reserved_param;
mod xdstp_reserved_prefix;
mod xdstp_type_mismatch;

use super::Rule;
use super::context::{ResponseContext, RuleContext};
use super::finding::{Blame, Found, Severity};
use super::graph::{Graphs, Window};
use super::structured::Entry;
use crate::engine::session::{Hollow, Name};
use crate::wire::Message;
use crate::wire::event::{Dir, Kind, Seq, Sym, TypeUrl, VersionInfo};

/// What rules are written with.
mod prelude {
    pub(super) use super::super::clock::Alarm;
    pub(super) use super::super::context::{RequestContext, ResponseContext, RuleContext};
    pub(super) use super::super::finding::{Blame, Found, Severity};
    pub(super) use super::super::rule::{On, Rule};
}

/// A version as it stands in a sentence.
fn shown(version: &VersionInfo) -> &str {
    if version.is_empty() { "(no version)" } else { version.as_str() }
}

/// `CDS`, or the last part of a type URL.
fn label(type_url: &TypeUrl) -> &str {
    let url = type_url.as_str();
    Kind::of_type_url(url)
        .map_or_else(|| url.rsplit(['/', '.']).next().unwrap_or(url), |(kind, _)| kind.label())
}

/// Whether JSON has fields that only the delta messages have (row D-06).
fn is_delta_json(json: &serde_json::Value) -> bool {
    const FIELDS: [&str; 5] = [
        "resource_names_subscribe",
        "resource_names_unsubscribe",
        "initial_resource_versions",
        "removed_resources",
        "system_version_info",
    ];
    let plain = |key: &String| key.replace('_', "").to_ascii_lowercase();
    let has = |key: &String| FIELDS.iter().any(|field| plain(&(*field).to_owned()) == plain(key));
    json.as_object().is_some_and(|map| map.keys().any(has))
}

/// Whose message it is.
fn sender(message: &Message) -> Blame {
    match message.dir() {
        Dir::Req => Blame::Client,
        Dir::Resp => Blame::Server,
    }
}

/// Names of the entries without content that are of this kind.
fn hollow(answer: &ResponseContext<'_>, what: Hollow) -> Vec<Sym> {
    answer.outcome.hollow.iter().filter(|(_, is)| *is == what).map(|(name, _)| *name).collect()
}

/// A structured name and its parts.
type Structured<'a> = (Sym, Name<'a>);

/// The structured ones among names.
fn structured<'a>(case: &RuleContext<'a>, names: &[Sym]) -> Vec<Structured<'a>> {
    let catalog = case.catalog();
    names.iter().filter_map(|name| Some((*name, Name::parse(catalog.text(*name))?))).collect()
}

/// The structured names of a response's resources.
fn delivered<'a>(case: &RuleContext<'a>, answer: &ResponseContext<'_>) -> Vec<Structured<'a>> {
    let catalog = case.catalog();
    let names: Vec<Sym> = answer.scan.structured.iter().map(|id| catalog.entry(*id).name).collect();
    structured(case, &names)
}

/// Names of the entries that stand in a list themselves; empty for anonymous ones.
fn inlined(entries: &[Entry]) -> impl Iterator<Item = &str> {
    entries.iter().filter_map(|entry| match entry {
        Entry::Inline(name) => Some(name.as_str()),
        _ => None,
    })
}

/// Resources whose targets (of a redirect, or the members of a list) the client has accepted and left alone for
/// too long.
fn left_alone(case: &RuleContext<'_>, listed: bool) -> Vec<(Sym, Seq)> {
    let limit = case.options.timers.answer;
    let overdue = case.memo.targets.iter().filter(|target| {
        let since = target.accepted.filter(|_| target.listed == listed);
        since.is_some_and(|since| case.at.since(since) >= limit)
    });
    let left = overdue.filter(|target| !case.is_wanted(&target.name));
    left.map(|target| (target.of, target.seq)).collect()
}

fn raise_left(case: &mut RuleContext<'_>, rule: &'static Rule, text: &str, left: Vec<(Sym, Seq)>) {
    let (mut names, mut evidence): (Vec<_>, Vec<_>) = left.into_iter().unzip();
    names.dedup();
    evidence.dedup();
    if !names.is_empty() {
        let (names, evidence) = (names.as_slice(), evidence.as_slice());
        case.raise(rule, Found { text: text.to_owned(), names, evidence, ..Found::default() });
    }
}

/// Names that are new with a response, and that no resource of the client refers to.
fn unused(
    case: &mut RuleContext<'_>,
    answer: &ResponseContext<'_>,
    rule: &'static Rule,
    (kind, parents): (Kind, &[Kind]),
    text: &str,
) {
    let known = case.options.links.is_some() && case.is_certain() && answer.track.kind == Some(kind);
    let parents: Vec<_> = parents.iter().flat_map(|kind| case.tracks_of(*kind)).collect();
    if !known || !parents.iter().any(|(_, track)| track.traffic.pushes > 0) {
        return;
    }
    let (client, catalog) = (case.client(), case.catalog());
    let unused = |name: &&Sym| {
        // Endpoints go by the name of their cluster as a rule; what it is that they are for may not be known.
        let namesake = parents.iter().any(|(_, track)| track.sent.is_present(catalog, **name));
        !namesake && case.world.graphs.is_used(&client, (kind, **name)) == Some(false)
    };
    let names: Vec<Sym> = answer.outcome.added.iter().filter(unused).copied().collect();
    if !names.is_empty() {
        let (blame, text, names) = (Blame::Server, text.to_owned(), names.as_slice());
        case.raise(rule, Found { blame, text, names, guess: true, ..Found::default() });
    }
}

/// Clusters that what a response brings names, and that the client does not have.
fn unknown_clusters(
    case: &mut RuleContext<'_>,
    answer: &ResponseContext<'_>,
    rule: &'static Rule,
    text: &str,
) {
    let new: Vec<Sym> = answer.outcome.added.iter().chain(&answer.outcome.changed).copied().collect();
    if new.is_empty() || case.options.links.is_none() {
        return;
    }
    let (names, streams) = case.unknown_clusters(answer.track, &new);
    if names.is_empty() {
        return;
    }
    let severity = (!streams.contains(&case.index)).then_some(Severity::Info);
    let (blame, text) = (Blame::Server, text.to_owned());
    let found = Found { blame, text, names: &names, severity, guess: true, ..Found::default() };
    let Some(finding) = case.raise(rule, found) else { return };
    let (client, stream, since) = (case.client(), case.index, case.at);
    let window = Window { finding, client, stream, clusters: names, since };
    Graphs::open(&mut case.world.graphs.windows, window);
}

/// All of them, by name.
pub(super) static ALL: [&Rule; 137] = [
    &ack_skipped::RULE,
    &ads_multiple_streams::RULE,
    &ads_type_url_missing::RULE,
    &bootstrap_ads_missing::RULE,
    &bootstrap_not_v3::RULE,
    &bootstrap_xds_cluster_order::RULE,
    &break_before_make::RULE,
    &collection_form::RULE,
    &config_source_other::RULE,
    &delta_alias_collision::RULE,
    &delta_first_unsub_only::RULE,
    &delta_irv_first_stream::RULE,
    &delta_irv_late::RULE,
    &delta_irv_resent::RULE,
    &delta_legacy_notfound::RULE,
    &delta_name_payload_differs::RULE,
    &delta_nonce_missing::RULE,
    &delta_nonce_not_ack::RULE,
    &delta_phantom_unsub::RULE,
    &delta_present_and_removed::RULE,
    &delta_reconnect_irv_unsubscribed::RULE,
    &delta_redundant_resource::RULE,
    &delta_removed_unknown::RULE,
    &delta_stale_sub_ignored::RULE,
    &delta_sub_unsub_overlap::RULE,
    &delta_subscribe_unanswered::RULE,
    &delta_version_empty::RULE,
    &delta_wildcard_unsub_unanswered::RULE,
    &delta_would_save::RULE,
    &duplicate_accepted::RULE,
    &duplicate_resource_name::RULE,
    &empty_response_noop::RULE,
    &empty_treated_as_wildcard::RULE,
    &fs_format_mismatch::RULE,
    &fs_parse_error::RULE,
    &fs_partial_write::RULE,
    &fs_update_rejected::RULE,
    &full_state_flap::RULE,
    &grpc_client_needs_ads::RULE,
    &implicit_nack::RULE,
    &irv_version_surprise::RULE,
    &lds_cds_emptied::RULE,
    &message_undecodable::RULE,
    &nack::RULE,
    &nack_empty_message::RULE,
    &nack_resend_loop::RULE,
    &nack_then_plain_request::RULE,
    &nack_unexplained::RULE,
    &nack_version_refused::RULE,
    &nack_without_nonce::RULE,
    &name_not_delivered::RULE,
    &names_shrunk_on_ack::RULE,
    &new_name_not_resent::RULE,
    &node_changed::RULE,
    &node_missing::RULE,
    &nonce_reused::RULE,
    &nonce_unknown::RULE,
    &not_resubscribed::RULE,
    &old_server_misreads_nack::RULE,
    &order_eds_before_cds::RULE,
    &order_lds_before_cds::RULE,
    &order_rds_before_lds::RULE,
    &order_vhds_before_rds::RULE,
    &over_4mib::RULE,
    &pgv_violation::RULE,
    &reconnect_new_name_unsent::RULE,
    &reconnect_version_dropped::RULE,
    &regular_stream_age::RULE,
    &relay_leak::RULE,
    &relay_version_rewritten::RULE,
    &request_repeat::RULE,
    &resource_name_empty::RULE,
    &resource_version_reused::RULE,
    &response_before_request::RULE,
    &response_type_unrequested::RULE,
    &response_unanswered::RULE,
    &rest_ads::RULE,
    &rest_bad_json::RULE,
    &rest_delta::RULE,
    &rest_noncanonical::RULE,
    &rest_overlap::RULE,
    &rest_unchanged_response::RULE,
    &route_unknown_cluster::RULE,
    &sotw_answer_to_stale::RULE,
    &sotw_empty_after_named::RULE,
    &sotw_heartbeat_partial_state::RULE,
    &sotw_needless_update::RULE,
    &sotw_nonce_empty::RULE,
    &sotw_nonce_missing::RULE,
    &sotw_nonce_regression::RULE,
    &sotw_stale_nonce::RULE,
    &sotw_wrapper_unsupported::RULE,
    &stream_silent::RULE,
    &transport_v2::RULE,
    &ttl_dropped_by_update::RULE,
    &ttl_expired::RULE,
    &ttl_heartbeat_version::RULE,
    &ttl_invalid::RULE,
    &ttl_unsupported_client::RULE,
    &two_planes::RULE,
    &type_service_mismatch::RULE,
    &type_unknown::RULE,
    &type_url_malformed::RULE,
    &type_url_mismatch::RULE,
    &unexpected_fields::RULE,
    &unreferenced::RULE,
    &unrequested_resource::RULE,
    &version_churn::RULE,
    &version_static_content_changed::RULE,
    &vhds_name_form::RULE,
    &vhds_on_sotw::RULE,
    &warming_stuck::RULE,
    &wildcard_dropped_by_names::RULE,
    &wildcard_other_type::RULE,
    &xdstp_alt_without_failure::RULE,
    &xdstp_authority_unmapped::RULE,
    &xdstp_context_mismatch::RULE,
    &xdstp_directive_bad::RULE,
    &xdstp_directive_on_wire::RULE,
    &xdstp_empty_glob_silent::RULE,
    &xdstp_entry_duplicate::RULE,
    &xdstp_entry_empty::RULE,
    &xdstp_entry_name::RULE,
    &xdstp_entry_unresolved::RULE,
    &xdstp_glob_as_name::RULE,
    &xdstp_glob_bad::RULE,
    &xdstp_glob_redirected::RULE,
    &xdstp_glob_sotw::RULE,
    &xdstp_locator_not_followed::RULE,
    &xdstp_malformed::RULE,
    &xdstp_name_variant::RULE,
    &xdstp_node_dependent::RULE,
    &xdstp_redirect_loop::RULE,
    &xdstp_redirect_not_followed::RULE,
    &xdstp_reserved_param::RULE,
    &xdstp_reserved_prefix::RULE,
    &xdstp_type_mismatch::RULE,
];
