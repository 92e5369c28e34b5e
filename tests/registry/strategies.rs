//! Random records, parameters, events, types and values.

use cardproof::digest::Sha256Digest;
use cardproof::identity::{AccountAddress, ContractAddress, TokenId};
use cardproof::registry::parameter::{AccountSignatures, Address, ExternalKeyId, KeyMetadataEntry, OperatorChange, Receiver};
use cardproof::registry::schema::{FieldValues, Fields, SizeLength, Type, Value};
use cardproof::registry::{AgentRecord, AgentStatus, ExternalReference, MetadataEntry, ReferenceKind, Timestamp};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

pub(crate) fn text() -> impl Strategy<Value = String> {
    "\\PC{0,20}"
}

pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

pub(crate) fn token_id() -> impl Strategy<Value = TokenId> {
    any::<u64>().prop_map(TokenId)
}

pub(crate) fn account() -> impl Strategy<Value = AccountAddress> {
    any::<[u8; 32]>().prop_map(AccountAddress)
}

pub(crate) fn digest() -> impl Strategy<Value = Sha256Digest> {
    any::<[u8; 32]>().prop_map(Sha256Digest)
}

pub(crate) fn contract() -> impl Strategy<Value = ContractAddress> {
    any::<(u64, u64)>().prop_map(|(index, subindex)| ContractAddress::new(index, subindex))
}

/// Up to the year 9999, where RFC 3339 ends.
pub(crate) fn time() -> impl Strategy<Value = Timestamp> {
    (0..253_402_300_800_000u64).prop_map(Timestamp)
}

pub(crate) fn reference() -> impl Strategy<Value = ExternalReference> {
    let content = (contract(), any::<bool>(), text(), text(), bytes());
    content.prop_map(|(contract_address, cis8, namespace, kind, bytes)| ExternalReference {
        contract_address,
        kind: match cis8 {
            true => ReferenceKind::Cis8 { namespace, key_type: kind, public_key: bytes },
            false => ReferenceKind::Cis10 { namespace, identifier_type: kind, identifier: bytes },
        },
    })
}

pub(crate) fn metadata() -> impl Strategy<Value = Vec<MetadataEntry>> {
    vec((text(), bytes()).prop_map(|(key, value)| MetadataEntry { key, value }), 0..4)
}

pub(crate) fn record() -> impl Strategy<Value = AgentRecord> {
    let first = (token_id(), account(), option::of(text()), option::of(digest()), option::of(reference()), option::of(account()));
    let second = (any::<bool>(), time(), option::of(time()), option::of(text()), metadata());
    (first, second).prop_map(|(first, second)| AgentRecord {
        token_id: first.0,
        owner_account: first.1,
        agent_uri: first.2,
        metadata_hash: first.3,
        external_reference: first.4,
        agent_wallet: first.5,
        status: if second.0 { AgentStatus::Active } else { AgentStatus::Revoked },
        registered_at: second.1,
        revoked_at: second.2,
        revocation_reason: second.3,
        on_chain_metadata: second.4,
    })
}

pub(crate) fn signatures() -> impl Strategy<Value = AccountSignatures> {
    let signature = vec(any::<u8>(), 64).prop_map(|bytes| <[u8; 64]>::try_from(bytes).unwrap());
    btree_map(any::<u8>(), btree_map(any::<u8>(), signature, 0..3), 0..3).prop_map(AccountSignatures)
}

pub(crate) fn address() -> impl Strategy<Value = Address> {
    prop_oneof![account().prop_map(Address::Account), contract().prop_map(Address::Contract)]
}

pub(crate) fn receiver() -> impl Strategy<Value = Receiver> {
    let contract = (contract(), text()).prop_map(|(contract, entry_point)| Receiver::Contract(contract, entry_point));
    prop_oneof![account().prop_map(Receiver::Account), contract]
}

pub(crate) fn change() -> impl Strategy<Value = OperatorChange> {
    prop_oneof![Just(OperatorChange::Add), Just(OperatorChange::Remove)]
}

pub(crate) fn external_key() -> impl Strategy<Value = ExternalKeyId> {
    (text(), text(), bytes()).prop_map(|(namespace, key_type, public_key)| ExternalKeyId { namespace, key_type, public_key })
}

pub(crate) fn key_metadata() -> impl Strategy<Value = Vec<KeyMetadataEntry>> {
    vec((text(), text()).prop_map(|(key, value)| KeyMetadataEntry { key, value }), 0..4)
}

fn size() -> impl Strategy<Value = SizeLength> {
    prop_oneof![Just(SizeLength::U8), Just(SizeLength::U16), Just(SizeLength::U32), Just(SizeLength::U64)]
}

/// How many bytes the LEB128 types of these tests allow: as many as a token amount.
const LEB128: u32 = 37;

/// A type of at most four levels, whose field and variant names are distinct.
pub(crate) fn schema_type() -> impl Strategy<Value = Type> {
    let flat = prop::sample::select(vec![
        Type::Unit,
        Type::Bool,
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::U128,
        Type::I8,
        Type::I16,
        Type::I32,
        Type::I64,
        Type::I128,
        Type::Amount,
        Type::AccountAddress,
        Type::ContractAddress,
        Type::Timestamp,
        Type::Duration,
        Type::ULeb128(LEB128),
        Type::ILeb128(LEB128),
    ]);
    let sized = (size(), 0..4u8).prop_map(|(size, which)| match which {
        0 => Type::String(size),
        1 => Type::ContractName(size),
        2 => Type::ReceiveName(size),
        _ => Type::ByteList(size),
    });
    let leaf = prop_oneof![4 => flat, 2 => sized, 1 => (0..5u32).prop_map(Type::ByteArray)];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let variants = vec(fields(inner.clone()), 1..4).boxed();
        let named = |variants: Vec<Fields>| {
            variants.into_iter().enumerate().map(|(i, fields)| (format!("Variant{i}"), fields)).collect::<Vec<_>>()
        };
        prop_oneof![
            (boxed.clone(), boxed.clone()).prop_map(|(left, right)| Type::Pair(left, right)),
            (size(), boxed.clone()).prop_map(|(size, item)| Type::List(size, item)),
            (size(), boxed.clone()).prop_map(|(size, item)| Type::Set(size, item)),
            (size(), boxed.clone(), boxed.clone()).prop_map(|(size, key, value)| Type::Map(size, key, value)),
            (0..4u32, boxed).prop_map(|(count, item)| Type::Array(count, item)),
            fields(inner).prop_map(Type::Struct),
            variants.clone().prop_map(move |variants| Type::Enum(named(variants))),
            (variants, any::<u8>()).prop_map(move |(variants, first)| {
                Type::TaggedEnum((0u8..).map(|i| first.wrapping_add(i)).zip(named(variants)).collect())
            }),
        ]
    })
}

fn fields(ty: impl Strategy<Value = Type> + Clone + 'static) -> impl Strategy<Value = Fields> {
    let named = vec(ty.clone(), 0..4)
        .prop_map(|types| Fields::Named(types.into_iter().enumerate().map(|(i, ty)| (format!("field_{i}"), ty)).collect()));
    prop_oneof![named, vec(ty, 0..4).prop_map(Fields::Unnamed), Just(Fields::None)]
}

/// A value of the given type.
pub(crate) fn value_of(ty: &Type) -> BoxedStrategy<Value> {
    let name = || "[a-z0-9_]{1,12}";
    match ty {
        Type::Unit => Just(Value::Unit).boxed(),
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::U8 => any::<u8>().prop_map(|number| Value::Unsigned(number.into())).boxed(),
        Type::U16 => any::<u16>().prop_map(|number| Value::Unsigned(number.into())).boxed(),
        Type::U32 => any::<u32>().prop_map(|number| Value::Unsigned(number.into())).boxed(),
        Type::U64 => any::<u64>().prop_map(Value::Unsigned).boxed(),
        Type::U128 => any::<u128>().prop_map(Value::U128).boxed(),
        Type::I8 => any::<i8>().prop_map(|number| Value::Signed(number.into())).boxed(),
        Type::I16 => any::<i16>().prop_map(|number| Value::Signed(number.into())).boxed(),
        Type::I32 => any::<i32>().prop_map(|number| Value::Signed(number.into())).boxed(),
        Type::I64 => any::<i64>().prop_map(Value::Signed).boxed(),
        Type::I128 => any::<i128>().prop_map(Value::I128).boxed(),
        Type::Amount => any::<u64>().prop_map(Value::Amount).boxed(),
        Type::AccountAddress => account().prop_map(Value::Account).boxed(),
        Type::ContractAddress => contract().prop_map(Value::Contract).boxed(),
        Type::Timestamp => time().prop_map(Value::Timestamp).boxed(),
        Type::Duration => any::<u64>().prop_map(Value::Duration).boxed(),
        Type::Pair(left, right) => {
            (value_of(left), value_of(right)).prop_map(|(left, right)| Value::Pair(Box::new((left, right)))).boxed()
        }
        Type::List(_, item) | Type::Set(_, item) => items_of(item, 0..4),
        Type::Array(count, item) => items_of(item, *count as usize..*count as usize + 1),
        Type::Map(_, key, value) => vec((value_of(key), value_of(value)), 0..3).prop_map(Value::Map).boxed(),
        Type::Struct(fields) => field_values_of(fields).prop_map(Value::Struct).boxed(),
        Type::Enum(variants) => variant_of(variants.clone()),
        Type::TaggedEnum(variants) => variant_of(variants.values().cloned().collect()),
        Type::String(_) => text().prop_map(Value::Text).boxed(),
        Type::ContractName(_) => name().prop_map(Value::ContractName).boxed(),
        Type::ReceiveName(_) => (name(), name()).prop_map(|(contract, func)| Value::ReceiveName { contract, func }).boxed(),
        Type::ULeb128(_) => "0|[1-9][0-9]{0,76}".prop_map(Value::Integer).boxed(),
        Type::ILeb128(_) => "0|-?[1-9][0-9]{0,76}".prop_map(Value::Integer).boxed(),
        Type::ByteList(_) => bytes().prop_map(Value::Bytes).boxed(),
        Type::ByteArray(count) => vec(any::<u8>(), *count as usize).prop_map(Value::Bytes).boxed(),
    }
}

fn items_of(item: &Type, count: std::ops::Range<usize>) -> BoxedStrategy<Value> {
    match item {
        Type::U8 => vec(any::<u8>(), count).prop_map(Value::Numbers).boxed(),
        item => vec(value_of(item), count).prop_map(Value::List).boxed(),
    }
}

fn variant_of(variants: Vec<(String, Fields)>) -> BoxedStrategy<Value> {
    let variant = prop::sample::select(variants);
    variant
        .prop_flat_map(|(name, fields)| field_values_of(&fields).prop_map(move |values| Value::Enum(name.clone(), values)))
        .boxed()
}

fn field_values_of(fields: &Fields) -> BoxedStrategy<FieldValues> {
    match fields {
        Fields::Named(fields) => {
            let names: Vec<String> = fields.iter().map(|(name, _)| name.clone()).collect();
            let values: Vec<_> = fields.iter().map(|(_, ty)| value_of(ty)).collect();
            values.prop_map(move |values| FieldValues::Named(names.iter().cloned().zip(values).collect())).boxed()
        }
        Fields::Unnamed(types) => types.iter().map(value_of).collect::<Vec<_>>().prop_map(FieldValues::Unnamed).boxed(),
        Fields::None => Just(FieldValues::None).boxed(),
    }
}

/// A type and a value of it.
pub(crate) fn typed_value() -> impl Strategy<Value = (Type, Value)> {
    schema_type().prop_flat_map(|ty| {
        let value = value_of(&ty);
        (Just(ty), value)
    })
}
