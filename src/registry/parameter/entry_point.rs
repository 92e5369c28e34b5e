use serde_json::Value as Json;

use crate::registry::schema::Type;
use crate::registry::{DecodeError, EncodeError};

use super::*;

macro_rules! entry_points {
    ($($(#[$doc:meta])* $variant:ident($parameter:ident) = $contract:literal, $name:literal;)+) => {
        /// An entry point of the CIS-8004 registry or of the CIS-8 registry.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum EntryPoint {
            $($(#[$doc])* $variant,)+
        }

        impl EntryPoint {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The contract's name: `CIS-8004` or `CIS-8`.
            pub const fn contract(self) -> &'static str {
                match self {
                    $(Self::$variant => $contract),+
                }
            }

            /// The name of the entry point, for example `setAgentURI`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            /// The receive name, for example `CIS-8004.setAgentURI`.
            pub const fn receive_name(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($contract, ".", $name)),+
                }
            }

            /// The schema of the parameter (see [`Parameter::schema`]).
            pub fn parameter_schema(self) -> Type {
                match self {
                    $(Self::$variant => <$parameter as Parameter>::schema()),+
                }
            }

            /// The parameter in `bytes` as schema JSON.
            ///
            /// # Errors
            /// [`DecodeError`] when the bytes are not one whole parameter of this entry point.
            pub fn parameter_json(self, bytes: &[u8]) -> Result<Json, DecodeError> {
                match self {
                    $(Self::$variant => $parameter::from_bytes(bytes).map(|parameter| parameter.to_schema_json())),+
                }
            }
        }
    };
}

entry_points! {
    /// Creates an agent.
    Register(Register) = "CIS-8004", "register";
    /// Sets or clears URI and hash.
    SetAgentUri(SetAgentUri) = "CIS-8004", "setAgentURI";
    /// Sets or clears the external reference.
    SetExternalReference(SetExternalReference) = "CIS-8004", "setExternalReference";
    /// Sets the value of a metadata key.
    SetMetadata(SetMetadata) = "CIS-8004", "setMetadata";
    /// Asks for the value of a metadata key.
    GetMetadata(GetMetadata) = "CIS-8004", "getMetadata";
    /// Revokes an agent.
    Revoke(Revoke) = "CIS-8004", "revoke";
    /// Sets an agent's wallet.
    SetAgentWallet(SetAgentWallet) = "CIS-8004", "setAgentWallet";
    /// Asks for a record by token id.
    AgentOf(AgentOf) = "CIS-8004", "agentOf";
    /// Asks for a record by external reference.
    AgentByExternalReference(AgentByExternalReference) = "CIS-8004", "agentByExternalReference";
    /// Asks for an agent's wallet.
    GetAgentWallet(GetAgentWallet) = "CIS-8004", "getAgentWallet";
    /// Asks for the nonce of the next wallet signature.
    GetAgentWalletNonce(GetAgentWalletNonce) = "CIS-8004", "getAgentWalletNonce";
    /// Transfers tokens (CIS-2).
    Transfers(Transfers) = "CIS-8004", "transfer";
    /// Adds or removes operators (CIS-2).
    UpdateOperators(UpdateOperators) = "CIS-8004", "updateOperator";
    /// Asks for balances (CIS-2).
    BalanceOf(BalanceOf) = "CIS-8004", "balanceOf";
    /// Asks for operators (CIS-2).
    OperatorOf(OperatorOf) = "CIS-8004", "operatorOf";
    /// Asks for metadata URLs (CIS-2).
    TokenMetadata(TokenMetadata) = "CIS-8004", "tokenMetadata";
    /// Asks which standards the registry keeps (CIS-0).
    Supports(Supports) = "CIS-8004", "supports";
    /// Binds an external key to the sender.
    RegisterExternalKey(RegisterExternalKey) = "CIS-8", "registerExternalKey";
    /// Replaces what is stored with an external key.
    UpdateKeyMetadata(UpdateKeyMetadata) = "CIS-8", "updateMetadata";
    /// Ends the binding of an external key.
    RevokeKey(RevokeKey) = "CIS-8", "revoke";
    /// Asks who holds an external key.
    OwnerOfKey(OwnerOfKey) = "CIS-8", "ownerOfKey";
    /// Asks which standards the key registry keeps (CIS-0).
    KeyRegistrySupports(Supports) = "CIS-8", "supports";
}

impl EntryPoint {
    /// The entry point with this receive name, for example `CIS-8004.register`.
    pub fn from_receive_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|entry_point| entry_point.receive_name() == name)
    }

    /// The bytes of a parameter given as schema JSON.
    ///
    /// # Errors
    /// [`EncodeError`] where the JSON is not what the schema wants, or what it gives is no parameter of this entry point (a
    /// token id of another length, say).
    pub fn parameter_from_json(self, json: &Json) -> Result<Vec<u8>, EncodeError> {
        let bytes = self.parameter_schema().encode_json(json)?;
        check_size(&bytes)?;
        self.parameter_json(&bytes).map_err(|error| EncodeError::mismatch(error.to_string()))?;
        Ok(bytes)
    }
}
