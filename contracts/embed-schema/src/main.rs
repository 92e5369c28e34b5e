//! Makes the module that goes on the chain out of two builds of one contract.
//!
//! `embed-schema <base.wasm> <schema-build.wasm> <out.wasm.v1>`
//!
//! The base build is the contract. The schema build is the same source with `concordium-std/build-schema`, which adds
//! functions that return the schema; they are run here and their answers written into the base build, as the custom
//! section `concordium-schema` (schema version 3). Custom sections the compiler left are dropped: they name paths and
//! versions, and the chain charges for each byte.
//!
//! The file is the chain's versioned module format: `00000001`, the wasm's length as 4 bytes big-endian, the wasm.
//! SHA-256 of the whole file, those 8 bytes included, is the module reference.

use anyhow::{ensure, Context, Result};
use concordium_contracts_common::to_bytes;
use concordium_smart_contract_engine::{utils, v1::ConcordiumAllowedImports};
use concordium_wasm::{
    output::{write_custom_section, Output},
    parse::parse_skeleton,
    types::{CustomSection, Name},
    validate::{validate_module, ValidationConfig},
};
use sha2::{Digest, Sha256};
use std::{env, fs};

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [base, schema_build, out] = arguments.as_slice() else {
        anyhow::bail!("usage: embed-schema <base.wasm> <schema-build.wasm> <out.wasm.v1>");
    };
    let base_bytes = fs::read(base).with_context(|| format!("cannot read the base build {base}"))?;
    let schema_bytes = fs::read(schema_build).with_context(|| format!("cannot read the schema build {schema_build}"))?;

    let schema = utils::generate_contract_schema_v3(&schema_bytes).context("the schema functions did not run")?;
    let schema = to_bytes(&schema);
    // The version marker alone is 6 bytes with an empty map: a schema without a contract means a wrong feature set.
    ensure!(schema.len() > 7, "{schema_build} has no contract schema in it");

    let mut skeleton = parse_skeleton(&base_bytes).context("the base build is not wasm")?;
    skeleton.custom.clear();
    let imports = ConcordiumAllowedImports { support_upgrade: true, enable_debug: false };
    validate_module(ValidationConfig::V1, &imports, &skeleton).context("the chain would refuse this module")?;

    let mut wasm = Vec::new();
    skeleton.output(&mut wasm)?;
    let section = CustomSection { name: Name { name: "concordium-schema".to_owned() }, contents: &schema };
    write_custom_section(&mut wasm, &section)?;

    let length = u32::try_from(wasm.len()).context("the module is too large")?;
    let mut module = vec![0, 0, 0, 1];
    module.extend_from_slice(&length.to_be_bytes());
    module.extend_from_slice(&wasm);
    fs::write(out, &module).with_context(|| format!("cannot write {out}"))?;

    // One line that a script can take apart: reference, bytes of the file, SHA-256 and bytes of the schema.
    println!(
        "{} {} {} {}",
        hex::encode(Sha256::digest(&module)),
        module.len(),
        hex::encode(Sha256::digest(&schema)),
        schema.len()
    );
    Ok(())
}
