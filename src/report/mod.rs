//! The result model and its formats.
