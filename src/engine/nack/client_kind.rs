/// The implementation of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientKind {
    /// Envoy.
    Envoy,
    /// gRPC C-core and its wrapped languages.
    GrpcCore,
    /// grpc-go.
    GrpcGo,
    /// grpc-java.
    GrpcJava,
    /// grpc-js.
    GrpcJs,
}

impl ClientKind {
    /// All implementations.
    pub const ALL: [ClientKind; 5] = [
        ClientKind::Envoy,
        ClientKind::GrpcCore,
        ClientKind::GrpcGo,
        ClientKind::GrpcJava,
        ClientKind::GrpcJs,
    ];

    /// Returns the name of the implementation in JSON and messages.
    pub fn word(self) -> &'static str {
        match self {
            ClientKind::Envoy => "envoy",
            ClientKind::GrpcCore => "grpc-core",
            ClientKind::GrpcGo => "grpc-go",
            ClientKind::GrpcJava => "grpc-java",
            ClientKind::GrpcJs => "grpc-js",
        }
    }

    /// Returns the implementation with this `user_agent_name`.
    pub fn of_user_agent(name: &str) -> Option<ClientKind> {
        let name = name.to_ascii_lowercase();
        let is = |part: &str| name.contains(part);
        if is("envoy") {
            Some(ClientKind::Envoy)
        } else if is("grpc go") || is("grpc-go") {
            Some(ClientKind::GrpcGo)
        } else if is("grpc java") || is("grpc-java") {
            Some(ClientKind::GrpcJava)
        } else if is("grpc node") || is("grpc-js") {
            Some(ClientKind::GrpcJs)
        } else if is("grpc c-core") || is("grpc-c") {
            Some(ClientKind::GrpcCore)
        } else {
            None
        }
    }
}
