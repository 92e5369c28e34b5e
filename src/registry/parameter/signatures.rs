use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{json, Value as Json};

use crate::registry::schema::{SizeLength, Type};
use crate::registry::wire::{variant, Reader, Wire, Writer};
use crate::registry::DecodeError;

/// An account's ed25519 signatures by credential index and key index, as the type of this name in `concordium-std`.
///
/// On the wire: a count (1 byte) of credentials in ascending order, each an index (1 byte) and a count (1 byte) of keys in
/// ascending order, each an index (1 byte), the scheme (`00` for ed25519) and 64 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountSignatures(pub BTreeMap<u8, BTreeMap<u8, [u8; 64]>>);

const WHAT: &str = "the account's signatures";

impl Wire for AccountSignatures {
    fn schema() -> Type {
        let signature = Type::Enum(vec![variant("Ed25519", Type::ByteArray(64))]);
        let keys = Type::Map(SizeLength::U8, Box::new(Type::U8), Box::new(signature));
        Type::Map(SizeLength::U8, Box::new(Type::U8), Box::new(keys))
    }

    fn put(&self, out: &mut Writer) {
        out.length::<1>(self.0.len(), WHAT);
        for (credential, keys) in &self.0 {
            out.byte(*credential);
            out.length::<1>(keys.len(), WHAT);
            for (key, signature) in keys {
                out.bytes(&[*key, 0]);
                out.bytes(signature);
            }
        }
    }

    fn take(from: &mut Reader<'_>, _what: &'static str) -> Result<Self, DecodeError> {
        let keys = |from: &mut Reader<'_>| {
            take_map(from, |from| match from.byte(WHAT)? {
                0 => from.array::<64>(WHAT),
                scheme => Err(from.bad_tag(scheme, WHAT)),
            })
        };
        take_map(from, keys).map(Self)
    }

    fn json(&self) -> Json {
        let keys = |keys: &BTreeMap<u8, [u8; 64]>| -> Json {
            keys.iter().map(|(key, signature)| json!([key, { "Ed25519": [hex::encode(signature)] }])).collect()
        };
        self.0.iter().map(|(credential, signatures)| json!([credential, keys(signatures)])).collect()
    }
}

/// One sequence of bytes per value: indices must ascend.
fn take_map<T>(
    from: &mut Reader<'_>,
    mut content: impl FnMut(&mut Reader<'_>) -> Result<T, DecodeError>,
) -> Result<BTreeMap<u8, T>, DecodeError> {
    let count = from.byte(WHAT)?;
    let mut map = BTreeMap::new();
    for _ in 0..count {
        let offset = from.offset();
        let index = from.byte(WHAT)?;
        if map.last_key_value().is_some_and(|(last, _)| *last >= index) {
            return Err(DecodeError::Malformed { what: Cow::Borrowed(WHAT), offset, why: "have indices out of order" });
        }
        map.insert(index, content(from)?);
    }
    Ok(map)
}
