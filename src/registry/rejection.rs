use std::fmt;

/// What a contract's rejection code means (registry facts, section 5).
///
/// Contracts may add codes; an unknown one is shown as its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rejection {
    /// The code, a negative number.
    pub code: i32,
    /// The error's name in its standard, when it has one.
    pub name: Option<&'static str>,
    /// One sentence on what it means or what to do.
    pub hint: Option<&'static str>,
}

impl Rejection {
    /// The meaning of `code`, as rejected by a CIS-8004 registry, a CIS-8 registry, or any contract built with `concordium-std`.
    pub fn of(code: i32) -> Self {
        if let Some((_, name, hint)) = KNOWN.iter().find(|(known, _, _)| *known == code) {
            return Self { code, name: Some(name), hint: Some(hint) };
        }
        let hint = match code {
            -7299..=-7200 => Some("The registry (CIS-8004) has no published name for this code."),
            -7199..=-7100 => Some("The key registry (CIS-8) has no published name for this code."),
            -7399..=-7300 => Some("It comes from a CIS-10 registry."),
            // concordium-std keeps the first hundred numbers for itself.
            i32::MIN..=-2_147_483_548 => {
                Some("It comes from the contract's standard library, in a version newer than this program.")
            }
            _ => None,
        };
        Self { code, name: None, hint }
    }
}

impl fmt::Display for Rejection {
    /// `AgentNotFound (-7200)`, or the bare number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "{name} ({})", self.code),
            None => self.code.fmt(f),
        }
    }
}

/// The first number of `concordium-std`'s own codes.
const STD: i32 = i32::MIN;

const KNOWN: &[(i32, &str, &str)] = &[
    (-7200, "AgentNotFound", "The registry has no agent with this token id."),
    (-7201, "Unauthorized", "The sender may not do this: only the agent's owner may set its URI and revoke it, an operator of the owner may do some of the \
         rest, and a contract nothing."),
    (-7202, "AgentRevoked", "The agent is revoked, which cannot be undone."),
    (-7203, "InvalidReceiver", "An agent can be transferred to an account only."),
    (-7204, "ExternalReferenceTaken", "Another active agent has this external reference."),
    (
        -7206,
        "InvalidExternalReference",
        "The external reference must name the configured CIS-8 contract and a key that is active there and owned by the sender.",
    ),
    (-7208, "InvalidMetadata", "A metadata key or value, or the agent URI (at most 4096 bytes), is not accepted."),
    (-7211, "ReservedKey", "The metadata key agentWallet is reserved: use setAgentWallet."),
    (
        -7212,
        "InvalidAgentWalletProof",
        "The wallet's signatures do not fit the message: check nonce, deadline, network and contract.",
    ),
    (-7213, "AgentWalletDeadlinePassed", "The deadline in the wallet's message has passed: sign a new one."),
    (-42_000_001, "InvalidTokenId", "The contract has no token with this id."),
    (-42_000_002, "InsufficientFunds", "The address does not hold this token."),
    (-42_000_003, "Unauthorized", "The sender is neither the token's owner nor an operator."),
    (
        -7100,
        "InvalidProof",
        "The external key's signature does not fit the message: check account, network, contract and namespace.",
    ),
    (-7101, "UnsupportedProofScheme", "The key registry does not know this proof scheme."),
    (-7102, "MalformedExternalKey", "The external key's bytes do not fit its key type."),
    (-7103, "Unauthorized", "The sender does not hold this external key, or is a contract."),
    (-7104, "AlreadyRegistered", "The external key is already registered."),
    (-7105, "NotRegistered", "The external key is not registered."),
    (-7107, "UnsupportedKeyType", "The key registry does not know this key type."),
    (-7108, "InvalidMetadata", "The metadata of the external key is not accepted."),
    (STD, "Unspecified", "The contract gave no reason."),
    (STD + 1, "Unit", "The contract gave no reason."),
    (STD + 2, "ParseError", "The contract could not read the parameter: its bytes do not fit the entry point."),
    (STD + 3, "LogFull", "The contract logged more events than it may."),
    (STD + 4, "LogMalformed", "The contract logged an event that is too long."),
    (STD + 5, "ContractNameMissingInitPrefix", "A contract name does not start with init_."),
    (STD + 6, "ContractNameTooLong", "A contract name has more than 100 characters."),
    (STD + 7, "ReceiveNameMissingDotSeparator", "A receive name has no dot."),
    (STD + 8, "ReceiveNameTooLong", "A receive name has more than 100 characters."),
    (STD + 9, "ContractNameContainsDot", "A contract name contains a dot."),
    (STD + 10, "ContractNameInvalidCharacters", "A contract name has characters that are not allowed."),
    (STD + 11, "ReceiveNameInvalidCharacters", "A receive name has characters that are not allowed."),
    (STD + 12, "NotPayable", "The entry point takes no CCD: send the amount 0."),
    (STD + 13, "TransferAmountTooLarge", "The contract does not have the CCD that it tried to send."),
    (STD + 14, "TransferMissingAccount", "The contract tried to send CCD to an account that does not exist."),
    (STD + 15, "CallAmountTooLarge", "The contract does not have the CCD that it tried to send with a call."),
    (STD + 16, "CallMissingAccount", "The contract called for an account that does not exist."),
    (STD + 17, "CallMissingContract", "The contract called a contract that does not exist."),
    (STD + 18, "CallMissingEntrypoint", "The contract called an entry point that does not exist."),
    (STD + 19, "CallMessageFailed", "The contract called a contract of the first generation, which failed."),
    (STD + 20, "CallLogicReject", "A contract that was called rejected."),
    (STD + 21, "CallTrap", "A contract that was called crashed."),
    (STD + 22, "UpgradeMissingModule", "The module to upgrade to does not exist."),
    (STD + 23, "UpgradeMissingContract", "The module to upgrade to does not hold the contract."),
    (STD + 24, "UpgradeUnsupportedModuleVersion", "The module to upgrade to is of the first generation."),
    (STD + 25, "QueryAccountBalanceError", "The contract asked for the balance of an account that does not exist."),
    (STD + 26, "QueryContractBalanceError", "The contract asked for the balance of a contract that does not exist."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_73_codes_have_names_and_unknown_ones_are_numbers() {
        assert_eq!(Rejection::of(-7200).to_string(), "AgentNotFound (-7200)");
        assert_eq!(Rejection::of(-2_147_483_646).to_string(), "ParseError (-2147483646)");
        assert_eq!(Rejection::of(-42_000_003).to_string(), "Unauthorized (-42000003)");
        assert_eq!(Rejection::of(-7107).name, Some("UnsupportedKeyType"));
        for code in [-7205, -7207, -7209, -7210, -7106, -7301, -1, -2_147_483_600] {
            assert_eq!(Rejection::of(code).to_string(), code.to_string());
        }
        assert!(Rejection::of(-7307).hint.unwrap().contains("CIS-10"));
        assert_eq!(Rejection::of(-1).hint, None);
    }

    #[test]
    fn no_code_has_two_meanings_and_every_hint_is_a_sentence() {
        let mut codes: Vec<i32> = KNOWN.iter().map(|(code, _, _)| *code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), KNOWN.len());
        assert!(KNOWN.iter().all(|(_, _, hint)| hint.ends_with('.')));
    }
}
