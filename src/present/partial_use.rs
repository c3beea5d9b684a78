//! Texts on the use of rejected responses.

use xdscope_engine::nack::PartialUse;

/// Describes how a client uses the valid resources of a rejected response.
///
/// A delta response omits nothing: resources that it does not mention stay as they are.
pub fn partial_use_text(partial_use: PartialUse, is_delta: bool) -> &'static str {
    match partial_use {
        PartialUse::Envoy if is_delta => {
            "Envoy uses the valid resources of a rejected LDS or CDS response, and removes those in removed_resources: \
             these resources are at the rejected version"
        }
        PartialUse::GrpcNewVersion | PartialUse::Grpc if is_delta => {
            "gRPC uses the valid resources of a rejected response"
        }
        PartialUse::Envoy => {
            "Envoy uses the valid resources of a rejected LDS or CDS response, and removes those that it omits: these \
             resources are at the rejected version, although Envoy reports the previous version"
        }
        PartialUse::EnvoyNothing => {
            "Envoy uses nothing of this response: constraints are checked before any of its resources is used"
        }
        PartialUse::EnvoyInOrder => {
            "Envoy stops at the first invalid resource of this type, in an order of its own: some of the other \
             resources may be in use"
        }
        PartialUse::GrpcNewVersion => {
            "gRPC uses the valid resources of a rejected response and reports the rejected version as its own; \
             clusters and listeners that the response omits are removed"
        }
        PartialUse::Grpc => {
            "gRPC uses the valid resources of a rejected response; clusters and listeners that the response omits are \
             removed"
        }
    }
}
