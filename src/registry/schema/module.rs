use std::collections::BTreeMap;

use crate::registry::wire::Reader;
use crate::registry::DecodeError;

use super::ty::{check_size, take_list, take_name, take_type};
use super::{wasm, SchemaError, Type, MAX_DEPTH};

/// What a versioned schema starts with.
const MAGIC: [u8; 2] = [0xff, 0xff];

/// The schema of a contract module: its contracts by name (for the registry `CIS-8004`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleSchema {
    /// The schema's version, 0 to 3.
    pub version: u8,
    /// The contracts by name, without `init_`.
    pub contracts: BTreeMap<String, ContractSchema>,
}

/// The schema of one contract.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContractSchema {
    /// The state. Version 0 only.
    pub state: Option<Type>,
    /// The init function.
    pub init: Option<FunctionSchema>,
    /// The receive functions by entry point, for example `agentOf`.
    pub receive: BTreeMap<String, FunctionSchema>,
    /// The events. Version 3 only.
    pub event: Option<Type>,
}

/// The schema of one function, each part of which may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionSchema {
    /// The parameter.
    pub parameter: Option<Type>,
    /// The return value. From version 1 on.
    pub return_value: Option<Type>,
    /// The error. From version 2 on.
    pub error: Option<Type>,
}

impl ModuleSchema {
    /// Reads a versioned schema: `ff ff`, the version, and per version the contracts.
    ///
    /// # Errors
    /// [`SchemaError`] for anything that is not one whole schema within the limits of this module.
    pub fn parse(bytes: &[u8]) -> Result<Self, SchemaError> {
        let (version, rest) = match bytes {
            [first, second, version, rest @ ..] if [*first, *second] == MAGIC => (*version, rest),
            [first, second] if [*first, *second] == MAGIC => {
                return Err(DecodeError::Truncated { what: "the schema's version".into(), offset: 2, needed: 1, left: 0 }.into())
            }
            _ => return Err(SchemaError::Unversioned),
        };
        Self::parse_unversioned(rest, version)
    }

    /// Reads a schema that does not say its own version, as older tools embedded them (section `concordium-schema-v1` holds
    /// version 0, `concordium-schema-v2` version 1).
    ///
    /// # Errors
    /// As [`ModuleSchema::parse`].
    pub fn parse_unversioned(bytes: &[u8], version: u8) -> Result<Self, SchemaError> {
        if version > 3 {
            return Err(SchemaError::Version(version));
        }
        check_size(bytes)?;
        let mut reader = Reader::new(bytes);
        let contracts = take_map(&mut reader, "the contract", |from| take_contract(from, version))?;
        reader.finish("the schema")?;
        Ok(Self { version, contracts })
    }

    /// The schema embedded in a contract module, or `None` when it has none.
    ///
    /// `source` is the module as a node sends it (4 bytes of version, 4 bytes of length, both big-endian, then WebAssembly) or
    /// the bare WebAssembly. Sections are looked for under the names `concordium-schema`, then the older
    /// `concordium-schema-v2` and `concordium-schema-v1`.
    ///
    /// # Errors
    /// [`SchemaError`] when the module is not well-formed as far as its sections go, or its schema cannot be read.
    pub fn from_module_source(source: &[u8]) -> Result<Option<Self>, SchemaError> {
        let sections = wasm::schema_sections(source)?;
        if let Some(bytes) = sections.versioned {
            return Self::parse(bytes).map(Some);
        }
        let older = sections.v2.map(|bytes| (bytes, 1)).or(sections.v1.map(|bytes| (bytes, 0)));
        older.map(|(bytes, version)| Self::parse_unversioned(bytes, version)).transpose()
    }

    /// The schema of one entry point, for example `receive("CIS-8004", "agentOf")`.
    pub fn receive(&self, contract: &str, entry_point: &str) -> Option<&FunctionSchema> {
        self.contracts.get(contract)?.receive.get(entry_point)
    }

    /// The schema of a contract's events.
    pub fn event(&self, contract: &str) -> Option<&Type> {
        self.contracts.get(contract)?.event.as_ref()
    }
}

fn take_contract(from: &mut Reader<'_>, version: u8) -> Result<ContractSchema, SchemaError> {
    let whole = |from: &mut Reader<'_>| take_type(from, MAX_DEPTH);
    Ok(ContractSchema {
        state: if version == 0 { take_option(from, whole)? } else { None },
        init: take_option(from, |from| take_function(from, version))?,
        receive: take_map(from, "the function", |from| take_function(from, version))?,
        event: if version == 3 { take_option(from, whole)? } else { None },
    })
}

fn take_function(from: &mut Reader<'_>, version: u8) -> Result<FunctionSchema, SchemaError> {
    const WHAT: &str = "a function";
    if version == 0 {
        return Ok(FunctionSchema { parameter: Some(take_type(from, MAX_DEPTH)?), ..FunctionSchema::default() });
    }
    let last = if version == 1 { 2 } else { 7 };
    let parts = from.byte(WHAT)?;
    if parts > last {
        return Err(from.bad_tag(parts, WHAT).into());
    }
    let mut part = |present: bool| present.then(|| take_type(from, MAX_DEPTH)).transpose();
    Ok(FunctionSchema {
        parameter: part(matches!(parts, 0 | 2 | 4 | 6))?,
        return_value: part(matches!(parts, 1 | 2 | 5 | 6))?,
        error: part(matches!(parts, 3..=6))?,
    })
}

fn take_option<T>(
    from: &mut Reader<'_>,
    content: impl FnOnce(&mut Reader<'_>) -> Result<T, SchemaError>,
) -> Result<Option<T>, SchemaError> {
    match from.byte("an optional part of the schema")? {
        0 => Ok(None),
        1 => content(from).map(Some),
        tag => Err(from.bad_tag(tag, "an optional part of the schema").into()),
    }
}

fn take_map<T>(
    from: &mut Reader<'_>,
    what: &'static str,
    mut content: impl FnMut(&mut Reader<'_>) -> Result<T, SchemaError>,
) -> Result<BTreeMap<String, T>, SchemaError> {
    let mut map = BTreeMap::new();
    for (name, content) in take_list(from, what, |from| Ok((take_name(from)?, content(from)?)))? {
        if map.contains_key(&name) {
            return Err(SchemaError::Duplicate { what: format!("{what} {name}") });
        }
        map.insert(name, content);
    }
    Ok(map)
}
