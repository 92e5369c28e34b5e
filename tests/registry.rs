//! The registry's codec as other crates see it: published vectors, the official tools, round trips, hostile bytes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "registry/hostile.rs"]
mod hostile;
#[path = "registry/official.rs"]
mod official;
#[path = "registry/round_trip.rs"]
mod round_trip;
#[path = "registry/schema_record.rs"]
mod schema_record;
#[path = "registry/strategies.rs"]
mod strategies;
#[path = "registry/vectors.rs"]
mod vectors;
