//! `data:` URIs (RFC 2397): the card stands in the URI itself, and no network is needed.

use data_url::forgiving_base64::DecodeError;
use data_url::DataUrl;

use super::body::{Body, BodyStream, OverCap};

/// What a `data:` URI holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataBody {
    /// The decoded bytes.
    pub body: Body,
    /// The media type it declares, `text/plain;charset=US-ASCII` if none.
    pub content_type: String,
}

/// A `data:` URI that brings no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DataUriError {
    /// It does not begin with `data:`.
    #[error("it is not a data: URI")]
    Scheme,
    /// There is no comma between the media type and the data.
    #[error("the data: URI has no comma between its media type and its data")]
    NoComma,
    /// The data is declared as base64 and is not.
    #[error("the data: URI is marked as base64, and its data is not valid base64")]
    Base64,
    /// The decoded data is larger than allowed.
    #[error("the data: URI holds more than {} bytes", .0.cap)]
    TooLarge(OverCap),
}

/// Decodes a `data:` URI of at most `cap` decoded bytes.
///
/// Reads what browsers read (WHATWG Fetch, "data: URL processor"): parameters without a value, such as the common
/// `;utf8`, and base64 without its padding pass; what follows an unescaped `#` is a fragment and no part of the data.
///
/// # Errors
/// [`DataUriError`].
pub fn decode(uri: &str, cap: u64) -> Result<DataBody, DataUriError> {
    let parsed = DataUrl::process(uri).map_err(|error| match error {
        data_url::DataUrlError::NotADataUrl => DataUriError::Scheme,
        data_url::DataUrlError::NoComma => DataUriError::NoComma,
    })?;
    let mut stream = BodyStream::new(cap, None);
    parsed.decode(|bytes| stream.push(bytes)).map_err(|error| match error {
        DecodeError::InvalidBase64(_) => DataUriError::Base64,
        DecodeError::WriteError(over) => DataUriError::TooLarge(over),
    })?;
    Ok(DataBody { body: stream.finish(), content_type: parsed.mime_type().to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(uri: &str) -> Result<String, DataUriError> {
        decode(uri, 64).map(|data| String::from_utf8(data.body.kept.unwrap().to_vec()).unwrap())
    }

    #[test]
    fn c_38_data_uris_decode_as_browsers_read_them() {
        for (uri, expected) in [
            ("data:,", ""),
            ("data:,A%20brief%20note", "A brief note"),
            ("data:application/json;utf8,{}", "{}"),
            ("data:application/json;charset=utf-8,%7B%22a%22:1%7D", "{\"a\":1}"),
            ("data:application/json;base64,eyJhIjoxfQ==", "{\"a\":1}"),
            ("data:application/json;base64,eyJhIjoxfQ", "{\"a\":1}"),
            ("data:;base64,", ""),
            ("DATA:,x", "x"),
            ("data:,50%", "50%"),
            ("data:,ü", "ü"),
            ("data:,a#b", "a"),
            ("data:,a,b", "a,b"),
        ] {
            assert_eq!(text(uri).as_deref(), Ok(expected), "{uri}");
        }
    }

    #[test]
    fn c_38_what_is_no_data_uri_is_an_error() {
        assert_eq!(text("data:application/json"), Err(DataUriError::NoComma));
        assert_eq!(text("data:application/json#,x"), Err(DataUriError::NoComma));
        assert_eq!(text("data:;base64,eyJ*"), Err(DataUriError::Base64));
        assert_eq!(text("data:;base64,e"), Err(DataUriError::Base64));
        assert_eq!(text("https://a.example/,"), Err(DataUriError::Scheme));
    }

    #[test]
    fn the_cap_holds_for_decoded_bytes() {
        assert_eq!(decode("data:,abc", 2), Err(DataUriError::TooLarge(OverCap { cap: 2 })));
        assert_eq!(decode("data:,%61%62", 2).unwrap().body.bytes, 2);
        assert_eq!(decode("data:;base64,YWJj", 2), Err(DataUriError::TooLarge(OverCap { cap: 2 })));
    }
}
