use serde_json::{json, Map, Value};

use crate::identity::{AccountAddress, ContractAddress, GenesisHash, Network, MAINNET, TESTNET};

use super::{schema_json, AnchorError, Call, Energy, Signatures, SignedTransaction, Transaction};

/// The name and version of the document.
const SCHEMA: &str = "cardproof.tx/1";

/// What a transaction is expected to take and cost, by a dry run. Its energy allowance is larger by a margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Energy of the whole transaction, in NRG.
    pub energy: u64,
    /// Its price at the block it was asked at, in microCCD. The price moves.
    pub microccd: u64,
}

/// A transaction as it travels between building, signing and sending: the JSON document `cardproof.tx/1`.
///
/// The chain's own bytes do not say which network they are for, so a transaction could be sent to another one by mistake.
/// The document says it: by name, and by genesis hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The network's name, as the user calls it.
    pub network: String,
    /// The network's genesis hash.
    pub genesis: GenesisHash,
    /// The transaction.
    pub transaction: Transaction,
    /// How many signatures its energy pays for.
    pub signature_count: u32,
    /// What it is expected to cost; `None` when no node was asked.
    pub estimate: Option<Estimate>,
    /// The signatures so far.
    pub signatures: Signatures,
}

impl Document {
    /// The transaction with its signatures, once all are there.
    pub fn signed(&self) -> Option<SignedTransaction> {
        (self.signatures.count() == self.signature_count)
            .then(|| SignedTransaction { transaction: self.transaction.clone(), signatures: self.signatures.clone() })
    }

    /// Adds the signatures of a signer.
    ///
    /// # Errors
    /// [`AnchorError::SignatureConflict`], or [`AnchorError::Build`] when there are more than the energy pays for.
    pub fn add_signatures(&mut self, signatures: Signatures) -> Result<(), AnchorError> {
        let mut all = self.signatures.clone();
        all.merge(signatures)?;
        if all.count() > self.signature_count {
            return Err(AnchorError::Build(format!(
                "its energy was planned for {} signature(s), and it would have {given}: build it again for that many, with \
                 --signature-count {given}",
                self.signature_count,
                given = all.count()
            )));
        }
        self.signatures = all;
        Ok(())
    }

    /// The contract's share of the energy, in NRG.
    fn execution_energy(&self) -> u64 {
        self.transaction.energy().saturating_sub(self.transaction.call().base_energy(self.signature_count))
    }

    /// The document as JSON. Field names are the output contract's; everything after `header` follows from the rest.
    ///
    /// # Errors
    /// [`AnchorError::NotATransaction`] when the parameter is none of the entry point's.
    pub fn to_json(&self) -> Result<Value, AnchorError> {
        let (transaction, call) = (&self.transaction, self.transaction.call());
        let parameter = hex::encode(&call.parameter);
        let mut json = json!({
            "schema": SCHEMA,
            "network": self.network,
            "genesis_hash": self.genesis.to_string(),
            "contract": {"index": call.contract.index.to_string(), "subindex": call.contract.subindex.to_string()},
            "receive_name": call.receive_name,
            "parameter_hex": parameter,
            "schema_json": schema_json(call)?,
            "hex": parameter,
            "header": {
                "sender": transaction.sender().to_string(),
                "nonce": transaction.nonce().to_string(),
                "expiry": transaction.expiry(),
                "energy": transaction.energy().to_string(),
            },
            "signature_count": self.signature_count,
            "execution_energy": self.execution_energy().to_string(),
            "payload_hex": hex::encode(transaction.payload()),
            "hash_to_sign": hex::encode(transaction.hash_to_sign()),
            "estimate": self.estimate.map(|e| json!({"energy": e.energy.to_string(), "microccd": e.microccd.to_string()})),
        });
        if let (false, Value::Object(fields)) = (self.signatures.is_empty(), &mut json) {
            fields.insert("signatures".into(), self.signatures.to_json());
            // Signatures are part of what the hash covers: it is not known before the last one.
            if let Some(signed) = self.signed() {
                fields.insert("block_item_hex".into(), hex::encode(signed.block_item()).into());
                fields.insert("transaction_hash".into(), signed.hash().to_string().into());
            }
        }
        Ok(json)
    }

    /// Reads a document and derives every derived field again. Its text is read by [`read_json`](super::read_json), which refuses what
    /// says something twice.
    ///
    /// # Errors
    /// [`AnchorError::Document`] for a field that is missing, malformed, or not what follows from the others.
    pub fn from_json(json: &Value) -> Result<Self, AnchorError> {
        let fields = json.as_object().ok_or_else(|| wrong("schema", "it is not a JSON object"))?;
        if text(fields, "schema")? != SCHEMA {
            return Err(wrong("schema", format!("it is not {SCHEMA}")));
        }
        let network = text(fields, "network")?.to_owned();
        let genesis: GenesisHash = parse(fields, "genesis_hash")?;
        check_network(&network, &genesis)?;
        let contract = object(fields, "contract")?;
        let contract = ContractAddress::new(number(contract, "index")?, number(contract, "subindex")?);
        let receive_name = text(fields, "receive_name")?.to_owned();
        let parameter =
            hex::decode(text(fields, "parameter_hex")?).map_err(|_| wrong("parameter_hex", "it is not hexadecimal"))?;
        let call = Call { contract, receive_name, parameter };
        let header = object(fields, "header")?;
        let sender: AccountAddress = parse(header, "sender")?;
        let (nonce, expiry, energy) = (number(header, "nonce")?, number(header, "expiry")?, number(header, "energy")?);
        let signature_count =
            u32::try_from(number(fields, "signature_count")?).map_err(|_| wrong("signature_count", "it is too large"))?;
        let transaction = Transaction::new(call, sender, nonce, expiry, Energy::Total(energy), signature_count)?;
        let estimate = match fields.get("estimate") {
            None | Some(Value::Null) => None,
            Some(_) => {
                let estimate = object(fields, "estimate")?;
                Some(Estimate { energy: number(estimate, "energy")?, microccd: number(estimate, "microccd")? })
            }
        };
        let mut document = Self { network, genesis, transaction, signature_count, estimate, signatures: Signatures::default() };
        document.check_estimate()?;
        if let Some(signatures) = fields.get("signatures") {
            document.add_signatures(signatures_from_json(signatures)?)?;
        }
        document.compare_with(fields)?;
        Ok(document)
    }

    /// An estimate cannot be less than what size and signatures alone take, nor more than is allowed, and nothing is for free. The price
    /// itself is not known here.
    fn check_estimate(&self) -> Result<(), AnchorError> {
        let Some(estimate) = self.estimate else { return Ok(()) };
        let base = self.transaction.call().base_energy(self.signature_count);
        if estimate.energy < base {
            let why = format!("{} NRG do not even pay for its bytes and signatures, which take {base} NRG", estimate.energy);
            return Err(wrong("estimate", why));
        }
        if estimate.energy > self.transaction.energy() {
            let allowed = self.transaction.energy();
            return Err(wrong("estimate", format!("{} NRG are more than the header allows, {allowed} NRG", estimate.energy)));
        }
        if estimate.microccd == 0 {
            return Err(wrong("estimate", "no energy is for free"));
        }
        Ok(())
    }

    /// Whatever this document would write, the one that was read must say too.
    fn compare_with(&self, read: &Map<String, Value>) -> Result<(), AnchorError> {
        let derived = self.to_json()?;
        for field in
            ["hex", "schema_json", "execution_energy", "payload_hex", "hash_to_sign", "block_item_hex", "transaction_hash"]
        {
            if derived.get(field) != read.get(field) {
                return Err(wrong(field, "it does not follow from the rest of the document"));
            }
        }
        for (field, value) in read {
            let is_free =
                matches!(field.as_str(), "estimate" | "dry_run") || (field == "signatures" && self.signatures.is_empty());
            if !is_free && derived.get(field) != Some(value) {
                return Err(wrong("fields", format!("{field} is not what this document would say itself")));
            }
        }
        Ok(())
    }
}

/// Reads `{"0": {"0": "<128 hex>"}}`: signatures made elsewhere.
///
/// # Errors
/// [`AnchorError::Document`] when it is anything else.
pub fn signatures_from_json(json: &Value) -> Result<Signatures, AnchorError> {
    let malformed = || wrong("signatures", "it is not {\"<credential>\": {\"<key>\": \"<128 hex>\"}} with numbers from 0 to 255");
    let index = |text: &str| text.parse::<u8>().ok().filter(|number| number.to_string() == text);
    let mut signatures = Signatures::default();
    for (credential, keys) in json.as_object().ok_or_else(malformed)? {
        let by_key = signatures.0.entry(index(credential).ok_or_else(malformed)?).or_default();
        for (key, signature) in keys.as_object().ok_or_else(malformed)? {
            let mut bytes = [0; 64];
            let hex = signature.as_str().ok_or_else(malformed)?;
            hex::decode_to_slice(hex, &mut bytes).map_err(|_| malformed())?;
            by_key.insert(index(key).ok_or_else(malformed)?, bytes);
        }
    }
    Ok(signatures)
}

/// A built-in network has its own genesis hash, and no local chain that of a public one. What users call theirs is theirs to say.
fn check_network(network: &str, genesis: &GenesisHash) -> Result<(), AnchorError> {
    let public = [MAINNET, TESTNET];
    if public.iter().any(|known| known.name == network && known.genesis != *genesis) {
        return Err(wrong("genesis_hash", format!("it is not the one of {network}")));
    }
    let of = public.iter().find(|known| known.genesis == *genesis && Network::built_in(network).is_some());
    match of.filter(|known| known.name != network) {
        Some(known) => Err(wrong("genesis_hash", format!("it is the one of {}, and not of {network}", known.name))),
        None => Ok(()),
    }
}

fn wrong(field: &'static str, why: impl Into<String>) -> AnchorError {
    AnchorError::Document { field, why: why.into() }
}

fn text<'a>(fields: &'a Map<String, Value>, field: &'static str) -> Result<&'a str, AnchorError> {
    fields.get(field).and_then(Value::as_str).ok_or_else(|| wrong(field, "it is missing or not a text"))
}

fn object<'a>(fields: &'a Map<String, Value>, field: &'static str) -> Result<&'a Map<String, Value>, AnchorError> {
    fields.get(field).and_then(Value::as_object).ok_or_else(|| wrong(field, "it is missing or not an object"))
}

fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(
    fields: &Map<String, Value>,
    field: &'static str,
) -> Result<T, AnchorError> {
    text(fields, field)?.parse().map_err(|error: T::Err| wrong(field, error.to_string()))
}

/// A decimal text, as we write numbers of the chain, or a JSON number, as others may.
fn number(fields: &Map<String, Value>, field: &'static str) -> Result<u64, AnchorError> {
    let value = match fields.get(field) {
        // One way to write a number: documents are compared and signed by what they say.
        Some(Value::String(text)) => text.parse().ok().filter(|number: &u64| number.to_string() == *text),
        Some(value) => value.as_u64(),
        None => None,
    };
    value.ok_or_else(|| wrong(field, "it is missing or not a number from 0 to 18446744073709551615"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchor::parameter_call;
    use crate::identity::TokenId;
    use crate::registry::parameter::SetAgentUri;

    fn document(signature_count: u32) -> Document {
        let parameter =
            SetAgentUri { token_id: TokenId(u64::MAX), agent_uri: Some("https://a.example/c".into()), metadata_hash: None };
        let call = parameter_call(ContractAddress::new(12802, 0), &parameter).unwrap();
        let energy = Energy::Execution(20_000);
        let transaction = Transaction::new(call, AccountAddress([1; 32]), 7, 1_798_761_600, energy, signature_count).unwrap();
        Document {
            network: "testnet".into(),
            genesis: TESTNET.genesis,
            transaction,
            signature_count,
            estimate: Some(Estimate { energy: 2334, microccd: 15_430_833 }),
            signatures: Signatures::default(),
        }
    }

    fn signature(key: u8) -> Signatures {
        Signatures([(0, [(key, [key + 1; 64])].into())].into())
    }

    #[test]
    fn a_document_reads_back_unsigned_and_signed() {
        let mut document = document(2);
        for key in 0..=2u8 {
            let json = document.to_json().unwrap();
            assert_eq!(Document::from_json(&json).unwrap(), document);
            let signed = json.get("transaction_hash").is_some();
            assert_eq!(
                (signed, json.get("signatures").is_some()),
                (key == 2, key > 0),
                "the hash is known with the last signature"
            );
            if key < 2 {
                document.add_signatures(signature(key)).unwrap();
            }
        }
        assert!(document.add_signatures(signature(9)).is_err(), "the energy was planned for two");
    }

    #[test]
    fn numbers_of_the_chain_are_decimal_texts() {
        let json = document(1).to_json().unwrap();
        assert_eq!(json["header"]["nonce"], "7");
        assert_eq!(json["header"]["expiry"], 1_798_761_600);
        assert_eq!(json["execution_energy"], "20000");
        assert_eq!(json["contract"], json!({"index": "12802", "subindex": "0"}));
        assert_eq!(json["schema_json"]["token_id"], "ffffffffffffffff");
        assert_eq!(json["hex"], json["parameter_hex"]);
        assert_eq!(json["estimate"], json!({"energy": "2334", "microccd": "15430833"}));
    }

    #[test]
    fn a_local_chain_with_the_genesis_of_a_public_one_is_a_contradiction() {
        let json = Document { network: "devnet".into(), ..document(1) }.to_json().unwrap();
        let error = Document::from_json(&json).unwrap_err().to_string();
        assert!(error.contains("testnet") && error.contains("devnet"), "{error}");
        // A name of the user's own says what the user wants.
        let own = Document { network: "mine".into(), ..document(1) };
        assert_eq!(Document::from_json(&own.to_json().unwrap()).unwrap(), own);
        let seeded = Document { network: "devnet".into(), genesis: GenesisHash([7; 32]), ..document(1) };
        assert_eq!(Document::from_json(&seeded.to_json().unwrap()).unwrap(), seeded);
    }

    #[test]
    fn an_estimate_that_bytes_signatures_or_the_header_rule_out_is_a_contradiction() {
        let document = document(2);
        let (base, most) = (document.transaction.call().base_energy(2), document.transaction.energy());
        for (energy, microccd, is_possible) in
            [(1, 1, false), (base - 1, 9, false), (base, 9, true), (most, 9, true), (most + 1, 9, false), (most, 0, false)]
        {
            let estimate = Some(Estimate { energy, microccd });
            let json = Document { estimate, ..document.clone() }.to_json().unwrap();
            assert_eq!(Document::from_json(&json).is_ok(), is_possible, "{energy} NRG, {microccd} microCCD");
        }
    }

    /// Changes every field in turn: whatever does not follow from the rest is found.
    #[test]
    fn no_field_can_be_changed_unnoticed() {
        let mut document = document(1);
        document.add_signatures(signature(0)).unwrap();
        let json = document.to_json().unwrap();
        let hash = &json["transaction_hash"];
        let changes = [
            ("/schema", json!("cardproof.tx/2")),
            ("/genesis_hash", json!(MAINNET.genesis.to_string())),
            ("/contract/index", json!("12803")),
            ("/receive_name", json!("CIS-8004.revoke")),
            ("/parameter_hex", json!("00")),
            ("/schema_json/agent_uri", json!({"None": []})),
            ("/hex", json!("00")),
            ("/header/sender", json!(AccountAddress([2; 32]).to_string())),
            ("/header/nonce", json!("8")),
            ("/header/expiry", json!(1_798_761_601u64)),
            ("/header/energy", json!("20001")),
            ("/signature_count", json!(2)),
            ("/execution_energy", json!("20001")),
            ("/payload_hex", json!("00")),
            ("/hash_to_sign", hash.clone()),
            ("/signatures/0/0", json!("00".repeat(64))),
            ("/block_item_hex", json!("00")),
            ("/transaction_hash", json["hash_to_sign"].clone()),
        ];
        for (pointer, value) in changes {
            let mut changed = json.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            assert!(Document::from_json(&changed).is_err(), "{pointer}");
        }
        for (pointer, name, value) in [
            ("", "more", json!(1)),
            ("/header", "more", json!(1)),
            ("/header", "nonce", json!(7)),
            ("/header", "nonce", json!("07")),
            ("", "signature_count", json!("1")),
            ("", "genesis_hash", json!(TESTNET.genesis.to_string().to_uppercase())),
            ("", "parameter_hex", json!(json["parameter_hex"].as_str().unwrap().to_uppercase())),
        ] {
            let mut changed = json.clone();
            changed.pointer_mut(pointer).unwrap().as_object_mut().unwrap().insert(name.into(), value);
            assert!(Document::from_json(&changed).is_err(), "{pointer}/{name}");
        }
        for field in json.as_object().unwrap().keys() {
            let mut changed = json.clone();
            changed.as_object_mut().unwrap().remove(field);
            // The estimate says nothing about the transaction.
            assert_eq!(Document::from_json(&changed).is_err(), field != "estimate", "without {field}");
        }
        assert!(Document::from_json(&json).is_ok());
    }
}
