//! The rules, one file each. The first comment of a file is the manual of its rule.

mod ack_skipped;
mod ads_multiple_streams;
mod ads_type_url_missing;
mod bootstrap_ads_missing;
mod bootstrap_not_v3;
mod bootstrap_xds_cluster;
mod bootstrap_xds_cluster_order;
mod break_before_make;
mod cluster_not_requested;
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
mod late_nack;
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
mod payload_undecodable;
mod pgv_violation;
mod reconnect_new_name_unsent;
mod reconnect_version_dropped;
mod reconnect_version_surprise;
mod regular_stream_age;
mod relay_leak;
mod relay_version_rewritten;
mod removed_in_use;
mod request_name_empty;
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
mod stream_rejected;
mod stream_silent;
mod support;
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

use super::rule::Rule;
use crate::lint::rule::check::Check;

/// Returns the rules of modules, with their checks.
macro_rules! rules_of {
    ($($module:ident),* $(,)?) => { &[$((&$module::RULE, $module::CHECKS)),*] };
}

/// All rules with their checks, by id.
pub(super) static ALL: &[(&Rule, &[Check])] = rules_of![
    ack_skipped,
    ads_multiple_streams,
    ads_type_url_missing,
    bootstrap_ads_missing,
    bootstrap_not_v3,
    bootstrap_xds_cluster,
    bootstrap_xds_cluster_order,
    break_before_make,
    cluster_not_requested,
    collection_form,
    config_source_other,
    delta_alias_collision,
    delta_first_unsub_only,
    delta_irv_first_stream,
    delta_irv_late,
    delta_irv_resent,
    delta_legacy_notfound,
    delta_name_payload_differs,
    delta_nonce_missing,
    delta_nonce_not_ack,
    delta_phantom_unsub,
    delta_present_and_removed,
    delta_reconnect_irv_unsubscribed,
    delta_redundant_resource,
    delta_removed_unknown,
    delta_stale_sub_ignored,
    delta_sub_unsub_overlap,
    delta_subscribe_unanswered,
    delta_version_empty,
    delta_wildcard_unsub_unanswered,
    delta_would_save,
    duplicate_accepted,
    duplicate_resource_name,
    empty_response_noop,
    empty_treated_as_wildcard,
    fs_format_mismatch,
    fs_parse_error,
    fs_partial_write,
    fs_update_rejected,
    full_state_flap,
    grpc_client_needs_ads,
    implicit_nack,
    irv_version_surprise,
    late_nack,
    lds_cds_emptied,
    message_undecodable,
    nack,
    nack_empty_message,
    nack_resend_loop,
    nack_then_plain_request,
    nack_unexplained,
    nack_version_refused,
    nack_without_nonce,
    name_not_delivered,
    names_shrunk_on_ack,
    new_name_not_resent,
    node_changed,
    node_missing,
    nonce_reused,
    nonce_unknown,
    not_resubscribed,
    old_server_misreads_nack,
    order_eds_before_cds,
    order_lds_before_cds,
    order_rds_before_lds,
    order_vhds_before_rds,
    over_4mib,
    payload_undecodable,
    pgv_violation,
    reconnect_new_name_unsent,
    reconnect_version_dropped,
    reconnect_version_surprise,
    regular_stream_age,
    relay_leak,
    relay_version_rewritten,
    removed_in_use,
    request_name_empty,
    request_repeat,
    resource_name_empty,
    resource_version_reused,
    response_before_request,
    response_type_unrequested,
    response_unanswered,
    rest_ads,
    rest_bad_json,
    rest_delta,
    rest_noncanonical,
    rest_overlap,
    rest_unchanged_response,
    route_unknown_cluster,
    sotw_answer_to_stale,
    sotw_empty_after_named,
    sotw_heartbeat_partial_state,
    sotw_needless_update,
    sotw_nonce_empty,
    sotw_nonce_missing,
    sotw_nonce_regression,
    sotw_stale_nonce,
    sotw_wrapper_unsupported,
    stream_rejected,
    stream_silent,
    transport_v2,
    ttl_dropped_by_update,
    ttl_expired,
    ttl_heartbeat_version,
    ttl_invalid,
    ttl_unsupported_client,
    two_planes,
    type_service_mismatch,
    type_unknown,
    type_url_malformed,
    type_url_mismatch,
    unexpected_fields,
    unreferenced,
    unrequested_resource,
    version_churn,
    version_static_content_changed,
    vhds_name_form,
    vhds_on_sotw,
    warming_stuck,
    wildcard_dropped_by_names,
    wildcard_other_type,
    xdstp_alt_without_failure,
    xdstp_authority_unmapped,
    xdstp_context_mismatch,
    xdstp_directive_bad,
    xdstp_directive_on_wire,
    xdstp_empty_glob_silent,
    xdstp_entry_duplicate,
    xdstp_entry_empty,
    xdstp_entry_name,
    xdstp_entry_unresolved,
    xdstp_glob_as_name,
    xdstp_glob_bad,
    xdstp_glob_redirected,
    xdstp_glob_sotw,
    xdstp_locator_not_followed,
    xdstp_malformed,
    xdstp_name_variant,
    xdstp_node_dependent,
    xdstp_redirect_loop,
    xdstp_redirect_not_followed,
    xdstp_reserved_param,
    xdstp_reserved_prefix,
    xdstp_type_mismatch,
];
