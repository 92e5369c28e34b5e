use crate::identity::{AccountAddress, Badge, Caip10, Caip19, Caip2, GenesisHash};

use super::FlowError;

/// What a card can only say once its agent is registered.
#[derive(Debug, Clone, Copy)]
pub struct CardValues {
    /// The network.
    pub genesis: GenesisHash,
    /// The agent's token.
    pub badge: Badge,
    /// The agent's owner.
    pub owner: AccountAddress,
}

/// The placeholders that a two-step registration fills in, and what each stands for.
pub const PLACEHOLDERS: [(&str, &str); 8] = [
    ("{{badge}}", "the token address in base58"),
    ("{{caip19}}", "the token as CAIP-19"),
    ("{{token_id}}", "the token id as a decimal number"),
    ("{{chain}}", "the network as CAIP-2"),
    ("{{owner}}", "the owner's account address"),
    ("{{owner_caip10}}", "the owner as CAIP-10"),
    ("{{registry}}", "the registry as <index>,<subindex>"),
    ("{{registry_caip10}}", "the registry as CAIP-10"),
];

/// Whether a card has a place for its own token address.
pub fn has_placeholder(card: &[u8]) -> bool {
    PLACEHOLDERS.iter().any(|(name, _)| card.windows(name.len()).any(|window| window == name.as_bytes()))
}

/// Fills the placeholders of a card. Every other byte stays as it is: what is hosted is what is anchored.
///
/// # Errors
/// [`FlowError::Template`] when the card is not text, has no placeholder, or has one of another name.
pub fn fill(card: &[u8], values: &CardValues) -> Result<Vec<u8>, FlowError> {
    let template = |why: String| FlowError::Template(why);
    let text = std::str::from_utf8(card).map_err(|_| template("it is not UTF-8 text".into()))?;
    if !has_placeholder(card) && placeholder_in(text).is_none() {
        let names: Vec<_> = PLACEHOLDERS.iter().map(|(name, meaning)| format!("{name} ({meaning})")).collect();
        return Err(template(format!("it has no placeholder; there are {}", names.join(", "))));
    }
    let chain = Caip2::of(&values.genesis);
    let contract = values.badge.contract;
    let replaced = [
        values.badge.to_string(),
        Caip19 { chain, badge: values.badge }.to_string(),
        values.badge.token_id.to_string(),
        chain.to_string(),
        values.owner.to_string(),
        Caip10::Account(chain, values.owner).to_string(),
        format!("{},{}", contract.index, contract.subindex),
        Caip10::Contract(chain, contract).to_string(),
    ];
    let mut filled = text.to_owned();
    for ((name, _), value) in PLACEHOLDERS.iter().zip(&replaced) {
        filled = filled.replace(name, value);
    }
    if let Some(name) = placeholder_in(&filled) {
        let names: Vec<_> = PLACEHOLDERS.iter().map(|(name, _)| *name).collect();
        return Err(template(format!("{name} is no placeholder that cardproof knows; there are {}", names.join(", "))));
    }
    Ok(filled.into_bytes())
}

/// The longest text between braces that is taken for a placeholder's name, in bytes.
const LONGEST_NAME: usize = 100;

/// The first thing in a text that is written like a placeholder, whether it is one that is known or not: a name in two pairs of braces,
/// however it is spaced and spelled. JSON has two opening braces in a row in no other place than inside a text.
pub fn placeholder_in(text: &str) -> Option<&str> {
    text.match_indices("{{").find_map(|(at, _)| {
        let inner = text.get(at + 2..)?.split_once("}}")?.0;
        let is_name =
            inner.len() <= LONGEST_NAME && inner.contains(char::is_alphanumeric) && !inner.contains(['{', '}', '"', '\n', '\r']);
        is_name.then(|| text.get(at..at + inner.len() + 4)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{ContractAddress, TokenId, MAINNET};

    fn values() -> CardValues {
        let badge = Badge { contract: ContractAddress::new(10082, 0), token_id: TokenId(484) };
        CardValues { genesis: MAINNET.genesis, badge, owner: AccountAddress([1; 32]) }
    }

    #[test]
    fn placeholders_are_filled_and_no_other_byte_changes() {
        let card =
            "{\r\n  \"token\": \"{{badge}}\",\t\"caip\": \"{{caip19}}\", \"n\": {{token_id}}, \"c\": \"{{registry}}\" }\n\n";
        let filled = String::from_utf8(fill(card.as_bytes(), &values()).unwrap()).unwrap();
        let expected = "{\r\n  \"token\": \"Mf22soLh1NuZYFgBK8iSs\",\t\"caip\": \
                        \"ccd:9dd9ca4d19e9393877d2c44b70f89acb/cis-2:Mf22soLh1NuZYFgBK8iSs\", \"n\": 484, \"c\": \"10082,0\" }\n\n";
        assert_eq!(filled, expected);
    }

    #[test]
    fn a_card_without_or_with_unknown_placeholders_is_refused() {
        let none = fill(b"{}", &values()).unwrap_err().to_string();
        assert!(none.contains("{{badge}}"), "{none}");
        let unknown = fill(b"{{badge}} {{bagde}}", &values()).unwrap_err().to_string();
        assert!(unknown.contains("{{bagde}}"), "{unknown}");
        for almost in ["{{ token_id }}", "{{TOKEN-ID}}", "{{Badge}}", "{{badge }}", "{{agent.id}}", "{{\u{e9}tat}}"] {
            let refused = fill(format!("{{{{badge}}}} {almost}").as_bytes(), &values()).unwrap_err().to_string();
            assert!(refused.contains(almost), "{refused}");
        }
        for none in ["{{}}", "{{", "{{ }}", "{{\"a\": 1}}", "}}{{"] {
            assert!(fill(format!("{{{{badge}}}} {none}").as_bytes(), &values()).is_ok(), "{none}");
        }
        assert!(fill(b"\xff{{badge}}", &values()).is_err());
    }
}
