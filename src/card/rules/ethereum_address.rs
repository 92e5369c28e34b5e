use super::{Findings, Role, Rule, Subject};
use crate::card::findings::quote;
use crate::card::Code;

/// Wallets and payment tokens of Society AI are Ethereum addresses: `0x` and 40 hexadecimal digits.
pub(super) struct EthereumAddress;

impl Rule for EthereumAddress {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        // An empty address is as good as none.
        for (offset, text) in subject.texts(|role| role == Role::Ethereum).filter(|(_, text)| !text.is_empty()) {
            let digits = text.strip_prefix("0x").unwrap_or_default();
            if digits.len() != 40 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                findings.add(Code::InvalidWalletAddress, offset, || {
                    format!("{} is not an Ethereum address (0x and 40 hexadecimal digits).", quote(text))
                });
            }
        }
    }
}
