//! Flags of sources in Kubernetes, which the user's own kubectl reaches.

use clap::{Args, ValueEnum};

use crate::net::token::Token;
use crate::net::transport::Address;

/// Which pods a source has, and how kubectl reaches them.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Kubernetes")]
pub struct KubernetesFlags {
    /// Choose pods by their labels, as kubectl does: app=reviews
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// Choose pods in all namespaces
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// Context of kubectl [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// User that kubectl acts as (its --as)
    #[arg(long, value_name = "USER")]
    pub as_user: Option<String>,
    /// Kind of the pods, which says how they are read [default: by their containers]
    #[arg(long = "as", id = "as", value_name = "KIND")]
    pub preset: Option<PodPreset>,
    /// Be a client of istiod on port 15012, with token and root certificate of the mesh: as the
    /// proxy of a pod, or as nobody in particular
    #[arg(long, value_name = "NAMESPACE/POD", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "")]
    pub istio: Option<String>,
    /// The control plane in a pod, once kubectl has found it.
    #[arg(skip)]
    pub server: Option<PodServer>,
}

/// The kinds of pods of `--as`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PodPreset {
    Istio,
    EnvoyGateway,
    Grpc,
}

/// A control plane in a pod.
#[derive(Clone, Debug)]
pub struct PodServer {
    /// Its port, behind a forward.
    pub address: Address,
    /// The root certificate to verify it with, in PEM.
    pub root: Option<String>,
    /// The name in its certificate.
    pub name: Option<String>,
    /// The token to send.
    pub token: Option<Token>,
}
