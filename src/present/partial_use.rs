//! Texts on the use of rejected responses.

use crate::engine::nack::PartialUse;

/// Describes how a client uses the valid resources of a rejected response.
pub fn partial_use_text(partial_use: PartialUse) -> &'static str {
    match partial_use {
        PartialUse::Envoy => {
            "Envoy uses the valid resources of a rejected LDS or CDS response: these resources are at the rejected \
             version, although Envoy reports the previous version"
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
