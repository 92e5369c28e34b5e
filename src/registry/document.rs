//! Values as cardproof's own JSON documents write them: every u64 of the chain as a decimal string, hashes and bytes in
//! hexadecimal, times in RFC 3339 with `Z`, an absent value as `null`. (Schema JSON, which the contract dictates, is another
//! form: see [`super::schema`].)

use serde_json::{json, Value as Json};

use crate::digest::Sha256Digest;
use crate::identity::{AccountAddress, ContractAddress, TokenId};

use super::answer::MetadataUrl;
use super::parameter::{Address, ExternalKeyId, KeyMetadataEntry, OperatorChange, TokenAmount};
use super::{AgentRecord, AgentStatus, ExternalReference, MetadataEntry, ReferenceKind, Timestamp};

/// A value in one of our documents.
pub(super) trait Document {
    fn document(&self) -> Json;
}

impl<T: Document> Document for Option<T> {
    fn document(&self) -> Json {
        self.as_ref().map_or(Json::Null, Document::document)
    }
}

macro_rules! as_text {
    ($($name:ty),+) => {$(
        impl Document for $name {
            fn document(&self) -> Json {
                json!(self.to_string())
            }
        }
    )+};
}
as_text!(TokenId, AccountAddress, Sha256Digest, Timestamp, String);

impl Document for TokenAmount {
    fn document(&self) -> Json {
        json!(self.0.to_string())
    }
}

impl Document for ContractAddress {
    fn document(&self) -> Json {
        json!({ "index": self.index.to_string(), "subindex": self.subindex.to_string() })
    }
}

impl Document for Address {
    fn document(&self) -> Json {
        match self {
            Self::Account(account) => account.document(),
            Self::Contract(contract) => contract.document(),
        }
    }
}

impl Document for OperatorChange {
    fn document(&self) -> Json {
        json!(match self {
            Self::Remove => "remove",
            Self::Add => "add",
        })
    }
}

impl Document for Vec<u8> {
    fn document(&self) -> Json {
        json!(hex::encode(self))
    }
}

impl Document for AgentStatus {
    fn document(&self) -> Json {
        json!(self.as_str())
    }
}

impl Document for MetadataEntry {
    fn document(&self) -> Json {
        json!({ "key": self.key, "value": self.value.document() })
    }
}

impl Document for Vec<MetadataEntry> {
    fn document(&self) -> Json {
        self.iter().map(Document::document).collect()
    }
}

impl Document for Vec<KeyMetadataEntry> {
    fn document(&self) -> Json {
        self.iter().map(|entry| json!({ "key": entry.key, "value": entry.value })).collect()
    }
}

impl Document for ExternalKeyId {
    fn document(&self) -> Json {
        json!({ "namespace": self.namespace, "key_type": self.key_type, "public_key": self.public_key.document() })
    }
}

impl Document for MetadataUrl {
    fn document(&self) -> Json {
        json!({ "url": self.url, "hash": self.hash.document() })
    }
}

impl Document for ExternalReference {
    fn document(&self) -> Json {
        let contract = self.contract_address.document();
        match &self.kind {
            ReferenceKind::Cis8 { namespace, key_type, public_key } => json!({
                "contract_address": contract,
                "kind": "Cis8",
                "namespace": namespace,
                "key_type": key_type,
                "public_key": public_key.document(),
            }),
            ReferenceKind::Cis10 { namespace, identifier_type, identifier } => json!({
                "contract_address": contract,
                "kind": "Cis10",
                "namespace": namespace,
                "identifier_type": identifier_type,
                "identifier": identifier.document(),
            }),
        }
    }
}

impl ExternalReference {
    /// The reference in one of our documents: `{"contract_address", "kind", "namespace", …}`.
    pub fn to_json(&self) -> Json {
        self.document()
    }
}

impl AgentRecord {
    /// The record in one of our documents, with the field names of the contract's schema; `status` is `active` or `revoked`.
    pub fn to_json(&self) -> Json {
        json!({
            "token_id": self.token_id.document(),
            "owner_account": self.owner_account.document(),
            "agent_uri": self.agent_uri.document(),
            "metadata_hash": self.metadata_hash.document(),
            "external_reference": self.external_reference.document(),
            "agent_wallet": self.agent_wallet.document(),
            "status": self.status.document(),
            "registered_at": self.registered_at.document(),
            "revoked_at": self.revoked_at.document(),
            "revocation_reason": self.revocation_reason.document(),
            "on_chain_metadata": self.on_chain_metadata.document(),
        })
    }
}
