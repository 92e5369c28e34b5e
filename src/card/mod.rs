//! The document: recognising its dialects, linting, building.
