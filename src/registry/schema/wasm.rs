//! Finding a schema in a contract module: the custom sections of a WebAssembly binary, and nothing else of it.

use super::SchemaError;

const MAGIC: &[u8] = b"\0asm";
const VERSION: [u8; 4] = [1, 0, 0, 0];

/// The contents of the sections that may hold a schema, the first of each name.
#[derive(Default)]
pub(super) struct SchemaSections<'a> {
    /// `concordium-schema`: says its own version.
    pub(super) versioned: Option<&'a [u8]>,
    /// `concordium-schema-v2`: version 1, without saying so.
    pub(super) v2: Option<&'a [u8]>,
    /// `concordium-schema-v1`: version 0, without saying so.
    pub(super) v1: Option<&'a [u8]>,
}

/// Looks through the sections of a module, with or without the 8 bytes of Concordium's version and length before it.
pub(super) fn schema_sections(source: &[u8]) -> Result<SchemaSections<'_>, SchemaError> {
    let mut rest = strip_header(unwrap_module(source)?)?;
    let mut found = SchemaSections::default();
    while let Some((id, after)) = rest.split_first() {
        rest = after;
        let section = take_sized(&mut rest)?;
        if *id != 0 {
            continue;
        }
        let mut content = section;
        let name = take_sized(&mut content)?;
        let place = match name {
            b"concordium-schema" => &mut found.versioned,
            b"concordium-schema-v2" => &mut found.v2,
            b"concordium-schema-v1" => &mut found.v1,
            _ => continue,
        };
        place.get_or_insert(content);
    }
    Ok(found)
}

/// The WebAssembly of a versioned module source.
fn unwrap_module(source: &[u8]) -> Result<&[u8], SchemaError> {
    if source.starts_with(MAGIC) {
        return Ok(source);
    }
    let (version, rest) = source.split_first_chunk::<4>().ok_or(SchemaError::Module("it is too short"))?;
    let (length, wasm) = rest.split_first_chunk::<4>().ok_or(SchemaError::Module("it is too short"))?;
    if u32::from_be_bytes(*version) > 1 {
        return Err(SchemaError::Module("it is neither WebAssembly nor a module of version 0 or 1"));
    }
    if u32::from_be_bytes(*length) as usize != wasm.len() {
        return Err(SchemaError::Module("it does not have the length that it says"));
    }
    Ok(wasm)
}

fn strip_header(wasm: &[u8]) -> Result<&[u8], SchemaError> {
    let rest = wasm.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(&VERSION));
    rest.ok_or(SchemaError::Module("it does not start as WebAssembly version 1 does"))
}

/// Takes a length (unsigned LEB128 of at most 32 bits) and as many bytes.
fn take_sized<'a>(from: &mut &'a [u8]) -> Result<&'a [u8], SchemaError> {
    const CUT: SchemaError = SchemaError::Module("a section ends too early");
    let mut length = 0u64;
    for shift in (0..35).step_by(7) {
        let (byte, rest) = from.split_first().ok_or(CUT)?;
        *from = rest;
        length |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            let (taken, rest) = usize::try_from(length).ok().and_then(|length| from.split_at_checked(length)).ok_or(CUT)?;
            *from = rest;
            return Ok(taken);
        }
    }
    Err(SchemaError::Module("the length of a section is malformed"))
}
