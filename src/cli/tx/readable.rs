//! A transaction in lines for people: parameters without byte arrays and without numbers in little-endian hexadecimal.

use std::time::Duration;

use cardproof::anchor::{schema_json, Call, Estimate, Transaction};
use cardproof::registry::Timestamp;
use serde_json::Value;

use crate::cli::shell::Shell;
use crate::cli::terminal::ccd;

/// `field = value` for each field of the parameter; its bytes when they are none that is known.
pub(super) fn parameter(call: &Call) -> Vec<String> {
    match schema_json(call) {
        Ok(Value::Object(fields)) => fields.iter().map(|(field, value)| format!("{field} = {}", plain(field, value))).collect(),
        Ok(value) if !value.is_null() => vec![plain("", &value)],
        _ => vec![hex::encode(&call.parameter)],
    }
}

fn plain(field: &str, value: &Value) -> String {
    match value {
        Value::Object(fields) => match fields.iter().next() {
            Some((name, _)) if fields.len() == 1 && name == "None" => "(none)".into(),
            Some((name, Value::Array(held))) if fields.len() == 1 && name == "Some" && held.len() == 1 => {
                held.iter().map(|held| plain(field, held)).collect()
            }
            // A variant of an enumeration without content.
            Some((name, Value::Array(held))) if fields.len() == 1 && held.is_empty() => name.clone(),
            _ => {
                let each = |(name, value): (&String, &Value)| format!("{name}: {}", plain(name, value));
                fields.iter().map(each).collect::<Vec<_>>().join(", ")
            }
        },
        Value::Array(items) if items.is_empty() => "(none)".into(),
        Value::Array(items) => match bytes(items) {
            Some(bytes) => of_bytes(field, &bytes),
            None => items.iter().map(|item| plain(field, item)).collect::<Vec<_>>().join("; "),
        },
        Value::String(text) if field == "token_id" => token_id(text).unwrap_or_else(|| text.clone()),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn bytes(items: &[Value]) -> Option<Vec<u8>> {
    items.iter().map(|item| item.as_u64().and_then(|byte| u8::try_from(byte).ok())).collect()
}

/// What users store is text more often than not; everything else is a digest or a key.
fn of_bytes(field: &str, bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).ok().filter(|text| field == "value" && !text.contains(char::is_control));
    text.map_or_else(|| hex::encode(bytes), |text| format!("\"{text}\""))
}

/// The number that the schema writes as the hexadecimal of its eight bytes, the lowest first.
fn token_id(text: &str) -> Option<String> {
    let bytes: [u8; 8] = hex::decode(text).ok()?.try_into().ok()?;
    Some(u64::from_le_bytes(bytes).to_string())
}

/// How long a confirmation takes that nobody thinks about. After a longer one what was checked before is checked once more.
pub(super) const MOMENT: Duration = Duration::from_secs(1);

/// What a transaction costs where no node is asked: by what its builder was told, which no signature covers.
pub(super) fn cost(estimate: Option<Estimate>, energy: u64) -> String {
    let most = |estimate: Estimate| {
        let most = (u128::from(estimate.microccd) * u128::from(energy)).div_ceil(u128::from(estimate.energy.max(1)));
        format!(
            "{} expected, about {} at most, by the estimate in the document",
            ccd(estimate.microccd),
            ccd(u64::try_from(most).unwrap_or(u64::MAX))
        )
    };
    estimate.map_or_else(|| "not known without a node: the price of the energy when it runs".into(), most)
}

/// What is about to be signed or sent.
pub(super) fn review(network: &str, transaction: &Transaction, cost: &str) -> Vec<String> {
    let call = transaction.call();
    let mut lines = vec![
        format!("network    {network}"),
        format!("contract   {} {}", call.contract, call.receive_name),
        format!("sender     {} (nonce {})", transaction.sender(), transaction.nonce()),
    ];
    lines.extend(parameter(call).iter().map(|line| format!("parameter  {line}")));
    lines.push(format!("energy     {} NRG at most", transaction.energy()));
    lines.push(format!("cost       {cost}"));
    lines.push(format!("expires    {}", Timestamp(transaction.expiry().saturating_mul(1000))));
    lines
}

/// Shows the lines and asks; `yes` is the answer of one who was asked before.
pub(super) fn confirmed(lines: &[String], question: &str, yes: bool, shell: &Shell) -> bool {
    for line in lines {
        // Nobody can say yes to what was not shown.
        if yes {
            shell.note(line);
        } else {
            shell.always(line);
        }
    }
    yes || shell.ask(question).is_some_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inspect_shows_digests_as_hexadecimal_and_token_ids_as_numbers() {
        assert_eq!(plain("token_id", &json!("0501000000000000")), "261");
        assert_eq!(plain("metadata_hash", &json!({"Some": [vec![171; 32]]})), "ab".repeat(32));
        assert_eq!(plain("agent_uri", &json!({"None": []})), "(none)");
        assert_eq!(plain("metadata", &json!([{"key": "kind", "value": [98, 111, 116]}])), "key: kind, value: \"bot\"");
        assert_eq!(plain("value", &json!([0, 255])), "00ff");
    }
}
