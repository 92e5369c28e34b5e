//! The CIS-8 External Key Registry.

use cardproof::identity::ContractAddress;
use cardproof::registry::parameter as wire;

use crate::cli::exit::CliError;

use super::entry_point::{built, set, Built};
use super::parameters as options;

/// The key that the options name.
fn external_key(key: &options::ExternalKey) -> Result<wire::ExternalKeyId, CliError> {
    let (Some(namespace), Some(key_type), Some(public)) = (&key.namespace, &key.key_type, &key.public_key) else {
        return Err(CliError::usage("--namespace, --key-type and --public-key name the external key"));
    };
    Ok(wire::ExternalKeyId { namespace: namespace.clone(), key_type: key_type.clone(), public_key: public_key(public)? })
}

pub(super) fn public_key(text: &str) -> Result<Vec<u8>, CliError> {
    hex::decode(text.strip_prefix("0x").unwrap_or(text)).map_err(|_| CliError::usage("--public-key is not hexadecimal"))
}

fn described(key: &wire::ExternalKeyId) -> String {
    format!("{} {} {}", key.namespace, key.key_type, hex::encode(&key.public_key))
}

fn metadata(entries: &[(String, String)]) -> Vec<wire::KeyMetadataEntry> {
    entries.iter().map(|(key, value)| wire::KeyMetadataEntry { key: key.clone(), value: value.clone() }).collect()
}

pub(super) fn register(contract: ContractAddress, args: &options::RegisterExternalKey) -> Result<Built, CliError> {
    let external_key = external_key(&args.key)?;
    let (Some(scheme), Some(signature)) = (&args.scheme, &args.signature) else {
        return Err(CliError::usage("--scheme and --signature prove that the key's holder agrees"));
    };
    let signature = hex::decode(signature.strip_prefix("0x").unwrap_or(signature))
        .map_err(|_| CliError::usage("--signature is not hexadecimal"))?;
    let mut changes = vec![set("external key", format!("{} bound to the sender", described(&external_key)))];
    changes.extend(args.metadata.iter().map(|(key, value)| set("metadata", format!("{key} = {value}"))));
    let proof = wire::KeyProof { scheme: scheme.clone(), signature };
    built(contract, &wire::RegisterExternalKey { external_key, proof, metadata: metadata(&args.metadata) }, changes)
}

pub(super) fn update_metadata(contract: ContractAddress, args: &options::UpdateKeyMetadata) -> Result<Built, CliError> {
    let external_key = external_key(&args.key)?;
    let mut changes = vec![set("external key", described(&external_key)), set("metadata", "all of it replaced".into())];
    changes.extend(args.metadata.iter().map(|(key, value)| set("metadata", format!("{key} = {value}"))));
    built(contract, &wire::UpdateKeyMetadata { external_key, metadata: metadata(&args.metadata) }, changes)
}

pub(super) fn revoke(contract: ContractAddress, args: &options::RevokeKey) -> Result<Built, CliError> {
    let external_key = external_key(&args.key)?;
    let changes = vec![set("external key", format!("{} no longer bound", described(&external_key)))];
    built(contract, &wire::RevokeKey { external_key }, changes)
}
