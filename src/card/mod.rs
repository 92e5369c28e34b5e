//! The document: recognising its dialects, linting, building.

pub mod build;
pub mod convert;
