//! The embedded local chain: a node others can connect to, for development and tests only.
