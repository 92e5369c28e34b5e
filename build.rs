//! Generates the server side of the node's gRPC API v2 for the embedded local chain.
fn main() {}
