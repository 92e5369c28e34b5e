use std::collections::HashSet;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Reads a JSON document that decides about money or signing: one in which an object has the same field twice, at whatever depth, is
/// refused, for two readers could disagree which of the two counts.
///
/// # Errors
/// What the parser says, with line and column; its category is `Data` for a field that appears twice.
pub fn read_json(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice::<Once>(bytes)?;
    serde_json::from_slice(bytes)
}

/// Why a file of our own cannot be read.
pub(super) fn fault(error: &serde_json::Error) -> String {
    if error.is_data() {
        error.to_string()
    } else {
        "it is not JSON".to_owned()
    }
}

/// A JSON value whose objects have each field once. The value itself is read by another pass, which knows numbers of any length.
struct Once;

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OnceVisitor)
    }
}

struct OnceVisitor;

impl<'de> Visitor<'de> for OnceVisitor {
    type Value = Once;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_str<E>(self, _: &str) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_unit<E>(self) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Once, A::Error> {
        while items.next_element::<Once>()?.is_some() {}
        Ok(Once)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Once, A::Error> {
        let mut seen = HashSet::new();
        while let Some(field) = fields.next_key::<String>()? {
            if seen.contains(&field) {
                let shown: String = field.chars().take(40).collect();
                return Err(de::Error::custom(format!("the field {shown} appears twice, so it is not clear which one counts")));
            }
            fields.next_value::<Once>()?;
            seen.insert(field);
        }
        Ok(Once)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_appears_twice_is_refused_at_every_depth_however_it_is_written() {
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"a": 1, "\u0061": 2}"#,
            r#"{"b": {"a": null, "c": [], "a": null}}"#,
            r#"[[{"b": [{"a": true, "a": false}]}]]"#,
        ] {
            let error = read_json(text.as_bytes()).unwrap_err();
            assert!(error.is_data() && error.to_string().contains("the field a appears twice"), "{error}");
            assert!(error.to_string().contains("line 1 column"), "{error}");
        }
    }

    #[test]
    fn everything_else_reads_as_before() {
        let text = r#"{"a": {"a": [1, -1, 0.5, 340282366920938463463374607431768211456, "x", true, null]}, "b": {"a": {}}}"#;
        assert_eq!(read_json(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        for text in ["", "{", "{} {}", "\u{feff}{}"] {
            assert!(!read_json(text.as_bytes()).unwrap_err().is_data(), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(read_json(deep.as_bytes()).is_err());
    }
}
