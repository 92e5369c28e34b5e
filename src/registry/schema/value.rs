use serde_json::{json, Value as Json};

use crate::identity::{AccountAddress, ContractAddress};
use crate::registry::Timestamp;

/// A value read by a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Unit,
    /// A truth value.
    Bool(bool),
    /// An unsigned number of up to 8 bytes.
    Unsigned(u64),
    /// A signed number of up to 8 bytes.
    Signed(i64),
    /// An unsigned number of 16 bytes.
    U128(u128),
    /// A signed number of 16 bytes.
    I128(i128),
    /// A LEB128 number in decimal digits, with a leading minus sign when negative.
    Integer(String),
    /// An amount of microCCD.
    Amount(u64),
    /// An account.
    Account(AccountAddress),
    /// A contract instance.
    Contract(ContractAddress),
    /// A point in time.
    Timestamp(Timestamp),
    /// A span of milliseconds.
    Duration(u64),
    /// Two values.
    Pair(Box<(Value, Value)>),
    /// The items of a list, set or array, unless they are of type U8.
    List(Vec<Value>),
    /// The items of a list, set or array of type U8, which schema JSON writes as numbers.
    Numbers(Vec<u8>),
    /// The bytes of a byte list or byte array, which schema JSON writes in hexadecimal.
    Bytes(Vec<u8>),
    /// Keys and values.
    Map(Vec<(Value, Value)>),
    /// A text.
    Text(String),
    /// A contract's name, without `init_`.
    ContractName(String),
    /// A receive function's name.
    ReceiveName {
        /// The contract's name.
        contract: String,
        /// The entry point.
        func: String,
    },
    /// A struct.
    Struct(FieldValues),
    /// A variant of an enum: its name and fields.
    Enum(String, FieldValues),
}

/// The values of the fields of a struct or a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValues {
    /// With names, in the order of the bytes.
    Named(Vec<(String, Value)>),
    /// Without names.
    Unnamed(Vec<Value>),
    /// None at all.
    None,
}

impl Value {
    /// The value as schema JSON, exactly as Concordium's own tools print it: numbers of up to 8 bytes as numbers, larger ones
    /// and amounts as decimal strings, accounts in base58, contracts as `{"index", "subindex"}`, times in RFC 3339 with
    /// `+00:00`, byte lists in hexadecimal, variants as `{"Name": fields}`.
    ///
    /// One difference, where theirs loses information: a time after the year 262142 is its number of milliseconds.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Unit => Json::Null,
            Self::Bool(value) => json!(value),
            Self::Unsigned(value) => json!(value),
            Self::Signed(value) => json!(value),
            Self::U128(value) => json!(value.to_string()),
            Self::I128(value) => json!(value.to_string()),
            Self::Integer(digits) => json!(digits),
            Self::Amount(micro) => json!(micro.to_string()),
            Self::Account(account) => json!(account.to_string()),
            Self::Contract(contract) => json!({ "index": contract.index, "subindex": contract.subindex }),
            Self::Timestamp(time) => json!(time.to_schema_json()),
            Self::Duration(millis) => json!(duration_text(*millis)),
            Self::Pair(pair) => json!([pair.0.to_json(), pair.1.to_json()]),
            Self::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Self::Numbers(bytes) => json!(bytes),
            Self::Bytes(bytes) => json!(hex::encode(bytes)),
            Self::Map(entries) => {
                Json::Array(entries.iter().map(|(key, value)| json!([key.to_json(), value.to_json()])).collect())
            }
            Self::Text(text) => json!(text),
            Self::ContractName(contract) => json!({ "contract": contract }),
            Self::ReceiveName { contract, func } => json!({ "contract": contract, "func": func }),
            Self::Struct(fields) => fields.to_json(),
            Self::Enum(name, fields) => Json::Object([(name.clone(), fields.to_json())].into_iter().collect()),
        }
    }
}

impl FieldValues {
    fn to_json(&self) -> Json {
        match self {
            Self::Named(fields) => Json::Object(fields.iter().map(|(name, value)| (name.clone(), value.to_json())).collect()),
            Self::Unnamed(values) => Json::Array(values.iter().map(Value::to_json).collect()),
            Self::None => json!([]),
        }
    }
}

const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// `1d 2h 3m 4s 5ms`.
fn duration_text(millis: u64) -> String {
    let mut rest = millis;
    let parts = UNITS.map(|(unit, size)| {
        let count = rest / size;
        rest %= size;
        format!("{count}{unit}")
    });
    parts.join(" ")
}

/// Reads a sum of numbers with units, such as `10d 1h 42s`, in milliseconds.
pub(super) fn parse_duration(text: &str) -> Option<u64> {
    text.split_whitespace().try_fold(0u64, |sum, part| {
        let (number, unit) = part.split_at_checked(part.find(|c: char| !c.is_ascii_digit())?)?;
        let (_, size) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        sum.checked_add(number.parse::<u64>().ok()?.checked_mul(size)?)
    })
}
