use super::{price, Findings, Rule, Subject};
use crate::card::findings::quote;
use crate::card::{Code, Dialect, Node};

/// Who charges for a skill has a wallet to be paid to.
pub(super) struct Wallet;

impl Rule for Wallet {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        if !subject.is(Dialect::SocietyAi) {
            return;
        }
        let address = subject.root.get("metadata").and_then(|node| node.get("crypto_wallet")?.get("address"));
        if address.is_some_and(|node| !node.is_null() && node.as_str() != Some("")) {
            return;
        }
        if let Some(skill) = subject.skills().iter().find(|skill| price::costs(skill)) {
            let id = skill.get("id").and_then(Node::as_str).unwrap_or_default();
            findings.add(Code::WalletMissing, skill.span.start, || {
                format!("The skill {} costs money, but metadata.crypto_wallet.address is missing.", quote(id))
            });
        }
    }
}
