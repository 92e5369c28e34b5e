use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use zeroize::Zeroizing;

use super::KeyError;

/// JSON whose texts stay in the buffer they were read from, so that erasing the buffer erases them.
///
/// `serde_json::Value` would copy every secret into memory that nobody erases. A text with escapes must be copied; that
/// copy erases itself. There is no `Debug`.
pub(super) enum Json<'a> {
    Number(u64),
    Text(Text<'a>),
    List(Vec<Json<'a>>),
    Object(BTreeMap<String, Json<'a>>),
    /// Null, a boolean, a negative or a fractional number: nothing that a key file needs.
    Other,
}

/// A text of the buffer, or an unescaped copy.
pub(super) enum Text<'a> {
    Borrowed(&'a str),
    Owned(Zeroizing<String>),
}

impl<'a> Json<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, KeyError> {
        // Some editors begin a file with a byte order mark, which JSON does not know.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        // Only the position is kept: the message may quote the input.
        serde_json::from_slice(bytes).map_err(|error| match (error.line(), error.column()) {
            (line, column) if error.is_data() => KeyError::FieldTwice { line, column },
            (line, column) => KeyError::NotJson { line, column },
        })
    }

    pub(super) fn object(&self) -> Option<&BTreeMap<String, Json<'a>>> {
        match self {
            Self::Object(fields) => Some(fields),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Json<'a>]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn get(&self, field: &str) -> Option<&Json<'a>> {
        self.object()?.get(field)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(Text::Borrowed(text)) => Some(text),
            Self::Text(Text::Owned(text)) => Some(text.as_str()),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Json<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Json::Text(Text::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Json::Text(Text::Owned(Zeroizing::new(text.to_owned()))))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Json::Number(number))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Json::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Json::Other)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Json::Other)
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Json::Other)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Json::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
                let mut object = BTreeMap::new();
                while let Some((name, value)) = fields.next_entry::<String, Json<'de>>()? {
                    // Two readers that disagree on which of two fields counts would sign with different keys.
                    if object.insert(name, value).is_some() {
                        return Err(de::Error::custom("a field appears twice"));
                    }
                }
                Ok(Json::Object(object))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parse_error_names_a_place_and_quotes_nothing() {
        let secret = "faaaca4b03fbae668e6b34c043844cdf946a1a93d9602b69b8874fbf4e3263a6";
        for text in
            [format!("{{\"0\": {{\"0\": \"{secret}\" \"{secret}\"}}}}"), format!("{{\"0\": {secret}}}"), format!("\"{secret}")]
        {
            let error = Json::parse(text.as_bytes()).err().unwrap();
            assert!(matches!(error, KeyError::NotJson { .. }));
            assert!(!error.to_string().contains(&secret[..8]) && !format!("{error:?}").contains(&secret[..8]), "{error}");
        }
    }

    #[test]
    fn a_field_that_appears_twice_is_refused() {
        for text in ["{\"0\": 1, \"0\": 2}", "{\"0\": [{\"1\": {}, \"\\u0031\": {}}]}"] {
            let error = Json::parse(text.as_bytes()).err().unwrap();
            assert!(matches!(error, KeyError::FieldTwice { line: 1, .. }), "{error}");
        }
    }

    #[test]
    fn texts_read_with_and_without_escapes() {
        let json = Json::parse(br#"{"plain": "ab", "escaped": "a\u0062", "list": [1, null, true, -1, 0.5]}"#).unwrap();
        assert_eq!(json.get("plain").and_then(Json::text), Some("ab"));
        assert_eq!(json.get("escaped").and_then(Json::text), Some("ab"));
        assert_eq!(json.get("list").and_then(Json::list).map(<[_]>::len), Some(5));
    }
}
