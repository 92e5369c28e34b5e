use serde_json::{json, Value as Json};

use crate::identity::{AccountAddress, ContractAddress, TokenId};
use crate::registry::schema::{Fields, SizeLength, Type};
use crate::registry::wire::{variant, wire_struct, Reader, Wire, Writer};
use crate::registry::DecodeError;

use super::parameter;

/// An account or a contract. On the wire: `00` and 32 bytes, or `01` and 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Address {
    /// An account.
    Account(AccountAddress),
    /// A contract instance.
    Contract(ContractAddress),
}

/// Who receives a token. On the wire: `00` and 32 bytes, or `01`, 16 bytes and the entry point's name with a 2-byte length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receiver {
    /// An account.
    Account(AccountAddress),
    /// A contract instance, and its entry point that is called.
    Contract(ContractAddress, String),
}

/// An amount of a token, 1 for an agent. On the wire: unsigned LEB128 in its shortest form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenAmount(pub u64);

/// Bytes handed to the receiver of a transfer. On the wire: a 2-byte length and the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AdditionalData(pub Vec<u8>);

/// One transfer of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// The token.
    pub token_id: TokenId,
    /// How much of it.
    pub amount: TokenAmount,
    /// Whose it is.
    pub from: Address,
    /// Whose it will be.
    pub to: Receiver,
    /// Passed on to the receiver.
    pub data: AdditionalData,
}

/// `transfer`. For an agent it clears the external reference and the wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfers(pub Vec<Transfer>);

/// Adding or removing an operator. On the wire: 0 remove, 1 add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperatorChange {
    /// It may no longer act for the owner.
    Remove,
    /// It may act for the owner.
    Add,
}

/// One change of the sender's operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateOperator {
    /// Adding or removing.
    pub update: OperatorChange,
    /// Whom.
    pub operator: Address,
}

/// `updateOperator`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateOperators(pub Vec<UpdateOperator>);

/// One question about a balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BalanceQuery {
    /// Of which token.
    pub token_id: TokenId,
    /// Whose.
    pub address: Address,
}

/// `balanceOf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BalanceOf(pub Vec<BalanceQuery>);

/// One question whether someone is an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperatorQuery {
    /// Whose operator.
    pub owner: Address,
    /// Who.
    pub address: Address,
}

/// `operatorOf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorOf(pub Vec<OperatorQuery>);

/// `tokenMetadata`: asks for the metadata URLs of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenMetadata(pub Vec<TokenId>);

/// `supports` of CIS-0: asks for each standard, such as `CIS-8004`, whether the contract keeps it. Names have a 1-byte length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supports(pub Vec<String>);

impl Wire for Address {
    fn schema() -> Type {
        Type::Enum(vec![variant("Account", Type::AccountAddress), variant("Contract", Type::ContractAddress)])
    }

    fn put(&self, out: &mut Writer) {
        match self {
            Self::Account(account) => {
                out.byte(0);
                account.put(out);
            }
            Self::Contract(contract) => {
                out.byte(1);
                contract.put(out);
            }
        }
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        match from.byte(what)? {
            0 => Wire::take(from, what).map(Self::Account),
            1 => Wire::take(from, what).map(Self::Contract),
            tag => Err(from.bad_tag(tag, what)),
        }
    }

    fn json(&self) -> Json {
        match self {
            Self::Account(account) => json!({ "Account": [account.json()] }),
            Self::Contract(contract) => json!({ "Contract": [contract.json()] }),
        }
    }
}

impl Wire for Receiver {
    fn schema() -> Type {
        let contract = Fields::Unnamed(vec![Type::ContractAddress, Type::String(SizeLength::U16)]);
        Type::Enum(vec![variant("Account", Type::AccountAddress), ("Contract".into(), contract)])
    }

    fn put(&self, out: &mut Writer) {
        match self {
            Self::Account(account) => Address::Account(*account).put(out),
            Self::Contract(contract, entry_point) => {
                Address::Contract(*contract).put(out);
                out.length::<2>(entry_point.len(), "the receiver's entry point");
                out.bytes(entry_point.as_bytes());
            }
        }
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        match Address::take(from, what)? {
            Address::Account(account) => Ok(Self::Account(account)),
            Address::Contract(contract) => {
                const WHAT: &str = "the receiver's entry point";
                let length = from.u16(WHAT)?;
                Ok(Self::Contract(contract, from.text(length.into(), WHAT)?))
            }
        }
    }

    fn json(&self) -> Json {
        match self {
            Self::Account(account) => json!({ "Account": [account.json()] }),
            Self::Contract(contract, entry_point) => json!({ "Contract": [contract.json(), entry_point] }),
        }
    }
}

impl Wire for TokenAmount {
    fn schema() -> Type {
        Type::ULeb128(37)
    }

    fn put(&self, out: &mut Writer) {
        out.uleb128(self.0);
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        from.uleb128(what).map(Self)
    }

    fn json(&self) -> Json {
        json!(self.0.to_string())
    }
}

impl Wire for AdditionalData {
    fn schema() -> Type {
        Type::ByteList(SizeLength::U16)
    }

    fn put(&self, out: &mut Writer) {
        out.length::<2>(self.0.len(), "the transfer's data");
        out.bytes(&self.0);
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        let length = from.u16(what)?;
        from.bytes(length.into(), what).map(|bytes| Self(bytes.to_vec()))
    }

    fn json(&self) -> Json {
        json!(hex::encode(&self.0))
    }
}

impl Wire for OperatorChange {
    fn schema() -> Type {
        Type::Enum(vec![("Remove".into(), Fields::None), ("Add".into(), Fields::None)])
    }

    fn put(&self, out: &mut Writer) {
        out.byte(match self {
            Self::Remove => 0,
            Self::Add => 1,
        });
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        match from.byte(what)? {
            0 => Ok(Self::Remove),
            1 => Ok(Self::Add),
            tag => Err(from.bad_tag(tag, what)),
        }
    }

    fn json(&self) -> Json {
        match self {
            Self::Remove => json!({ "Remove": [] }),
            Self::Add => json!({ "Add": [] }),
        }
    }
}

wire_struct!(Transfer { token_id: TokenId, amount: TokenAmount, from: Address, to: Receiver, data: AdditionalData });
wire_struct!(UpdateOperator { update: OperatorChange, operator: Address });
wire_struct!(BalanceQuery { token_id: TokenId, address: Address });
wire_struct!(OperatorQuery { owner: Address, address: Address });

/// A list with a 2-byte count, as CIS-2 and CIS-0 have them.
macro_rules! wire_list_16 {
    ($($name:ident($item:ty)),+ $(,)?) => {$(
        impl Wire for $name {
            fn schema() -> Type {
                Type::List(SizeLength::U16, Box::new(<$item>::schema()))
            }

            fn put(&self, out: &mut Writer) {
                out.length::<2>(self.0.len(), "the list");
                self.0.iter().for_each(|item| item.put(out));
            }

            fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
                let count = from.u16(what)?;
                from.items(count.into(), what, |from| Wire::take(from, what)).map(Self)
            }

            fn json(&self) -> Json {
                Json::Array(self.0.iter().map(Wire::json).collect())
            }
        }
    )+};
}
wire_list_16!(
    Transfers(Transfer),
    UpdateOperators(UpdateOperator),
    BalanceOf(BalanceQuery),
    OperatorOf(OperatorQuery),
    TokenMetadata(TokenId),
);

impl Wire for Supports {
    fn schema() -> Type {
        Type::List(SizeLength::U16, Box::new(Type::String(SizeLength::U8)))
    }

    fn put(&self, out: &mut Writer) {
        out.length::<2>(self.0.len(), "the list");
        for standard in &self.0 {
            out.length::<1>(standard.len(), "the name of a standard");
            out.bytes(standard.as_bytes());
        }
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        const WHAT: &str = "the name of a standard";
        let count = from.u16(what)?;
        let name = |from: &mut Reader<'_>| {
            let length = from.byte(WHAT)?;
            from.text(length.into(), WHAT)
        };
        from.items(count.into(), what, name).map(Self)
    }

    fn json(&self) -> Json {
        json!(self.0)
    }
}

parameter!(Transfers, UpdateOperators, BalanceOf, OperatorOf, TokenMetadata, Supports);
