use crate::digest::Sha256Digest;
use crate::fetch::{check_uri, CardFetcher, Fetched, Origin};

use super::FlowError;

/// The local card and what its URI serves, side by side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the URI does not serve the local card: the file has {local_bytes} bytes with SHA-256 {local}, the URI serves {served_bytes} \
     bytes with SHA-256 {served}{}",
    first_difference_text(*first_difference)
)]
pub struct CardDiffers {
    /// The digest of the local file.
    pub local: Sha256Digest,
    /// How many bytes the local file has.
    pub local_bytes: u64,
    /// The digest of the body that the URI serves, content-decoded.
    pub served: Sha256Digest,
    /// How many bytes that body has.
    pub served_bytes: u64,
    /// The offset of the first byte that differs, counted from 0; the length of the shorter one when it begins the longer.
    /// `None` when the body was too large to keep.
    pub first_difference: Option<u64>,
}

fn first_difference_text(offset: Option<u64>) -> String {
    offset.map(|offset| format!("; the first difference is at offset {offset}")).unwrap_or_default()
}

/// Requires `served` to be exactly `local` (faults C-03 and C-16).
///
/// # Errors
/// [`CardDiffers`] with both digests and the first differing offset.
pub fn require_same(local: &[u8], served: &Fetched) -> Result<(), CardDiffers> {
    let local_sha256 = Sha256Digest::of(local);
    if local_sha256 == served.body.sha256 {
        return Ok(());
    }
    let first_difference = served.body.kept.as_ref().map(|served| {
        let same = local.iter().zip(served.iter()).take_while(|(ours, theirs)| ours == theirs).count();
        same as u64
    });
    Err(CardDiffers {
        local: local_sha256,
        local_bytes: local.len() as u64,
        served: served.body.sha256,
        served_bytes: served.body.bytes,
        first_difference,
    })
}

/// Fetches what `uri` serves now, for comparing or, with the user's word, for trusting.
///
/// `wanted` is the digest that it should have, where one is known. A body whose end is not proven could be a part of the card: its digest must never be anchored.
///
/// # Errors
/// [`FlowError::Fetch`] when it serves nothing whole.
pub(super) async fn fetch<F: CardFetcher>(
    fetcher: &F,
    uri: &str,
    origin: Origin,
    wanted: Option<Sha256Digest>,
) -> Result<Fetched, FlowError> {
    let fetched = fetcher
        .fetch(uri, origin)
        .await
        .map_err(|failure| FlowError::Fetch { uri: uri.to_owned(), failure: Box::new(failure) })?;
    let fetched = match wanted {
        Some(wanted) if fetched.body.sha256 == wanted => fetched,
        // Whatever is trusted has to be whole.
        wanted => fetcher.look_again(uri, fetched, wanted.unwrap_or(Sha256Digest([0; 32]))).await,
    };
    if !fetched.length_verified {
        return Err(FlowError::LengthUnverified { uri: uri.to_owned() });
    }
    Ok(fetched)
}

/// Refuses a URI that no verifier could fetch: to anchor it would only cost a fee.
///
/// # Errors
/// [`FlowError::Fetch`].
pub(super) fn require_fetchable(uri: &str) -> Result<(), FlowError> {
    check_uri(uri).map_err(|failure| FlowError::Fetch { uri: uri.to_owned(), failure: Box::new(failure) })
}

/// Requires `uri` to serve content with this digest now (fault C-16).
///
/// # Errors
/// [`FlowError::HashDiffers`], or [`FlowError::Fetch`] when it serves nothing whole.
pub async fn check_served<F: CardFetcher>(fetcher: &F, uri: &str, origin: Origin, wanted: Sha256Digest) -> Result<(), FlowError> {
    let served = fetch(fetcher, uri, origin, Some(wanted)).await?.body;
    if served.sha256 == wanted {
        return Ok(());
    }
    Err(FlowError::HashDiffers { wanted, uri: uri.to_owned(), served: served.sha256, bytes: served.bytes })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::fetch::{Body, FetchTrace};

    fn served(body: &'static [u8], kept: bool) -> Fetched {
        let sha256 = Sha256Digest::of(body);
        let body = Body { sha256, bytes: body.len() as u64, kept: kept.then(|| Bytes::from_static(body)) };
        Fetched { trace: FetchTrace::default(), body, wire_sha256: sha256, looks_like_bot_wall: false, length_verified: true }
    }

    #[test]
    fn c_03_a_final_newline_is_found_where_it_stands() {
        let differs = require_same(b"{\"a\":1}", &served(b"{\"a\":1}\n", true)).unwrap_err();
        assert_eq!((differs.local_bytes, differs.served_bytes, differs.first_difference), (7, 8, Some(7)));
        let text = differs.to_string();
        assert!(text.contains(&differs.local.to_string()) && text.contains(&differs.served.to_string()), "{text}");
        assert!(text.ends_with("the first difference is at offset 7"), "{text}");
    }

    #[test]
    fn equal_bytes_pass_and_a_body_too_large_to_keep_has_no_offset() {
        assert_eq!(require_same(b"same", &served(b"same", false)), Ok(()));
        let differs = require_same(b"ours", &served(b"other", false)).unwrap_err();
        assert_eq!(differs.first_difference, None);
        assert!(!differs.to_string().contains("offset"));
        assert_eq!(require_same(b"ours", &served(b"other", true)).unwrap_err().first_difference, Some(1));
    }
}
