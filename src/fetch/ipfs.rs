use url::Url;

use super::settings::FetchSetupError;
use super::stop::Stop;
use super::target::invalid;

/// The gateways that the user named, read and checked.
pub(super) fn gateways(texts: &[String]) -> Result<Vec<Url>, FetchSetupError> {
    let read = |(index, text): (usize, &String)| gateway(text).ok_or(FetchSetupError::Gateway { number: index + 1 });
    texts.iter().enumerate().map(read).collect()
}

fn gateway(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    (plain && url.has_host() && matches!(url.scheme(), "http" | "https")).then_some(url)
}

/// Where `gateway` serves what follows `ipfs://`: `<gateway>/ipfs/<content identifier>/<path>`.
///
/// The gateway is not trusted: the anchored digest still decides.
pub(super) fn url_at(gateway: &Url, path: &str) -> Result<Url, Stop> {
    if path.contains('?') {
        return Err(invalid("the ipfs: URI has a query, which would steer the gateway"));
    }
    let path = path.split_once('#').map_or(path, |(path, _)| path);
    // Some write ipfs://ipfs/<content identifier>.
    let path = path.strip_prefix("ipfs/").unwrap_or(path);
    let (identifier, rest) = path.split_once('/').map_or((path, None), |(identifier, rest)| (identifier, Some(rest)));
    if identifier.len() < 8 || identifier.len() > 128 || !identifier.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(invalid("the ipfs: URI does not begin with a content identifier"));
    }
    let base = gateway.as_str().trim_end_matches('/').trim_end_matches("/ipfs");
    let root = format!("{base}/ipfs/{identifier}");
    let text = rest.map_or_else(|| root.clone(), |rest| format!("{root}/{rest}"));
    let url = Url::parse(&text).map_err(|_| invalid("the ipfs: URI cannot be read"))?;
    // `..` must not lead out of the content.
    if url.as_str() == root || url.as_str().starts_with(&format!("{root}/")) {
        Ok(url)
    } else {
        Err(invalid("the path of the ipfs: URI leads out of its content"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CID: &str = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";

    fn at(gateway_text: &str, path: &str) -> Option<String> {
        url_at(&gateway(gateway_text)?, path).ok().map(String::from)
    }

    #[test]
    fn c_39_a_gateway_serves_the_content_below_its_own_path() {
        let plain = format!("https://ipfs.io/ipfs/{CID}");
        for base in ["https://ipfs.io", "https://ipfs.io/", "https://ipfs.io/ipfs", "https://ipfs.io/ipfs/"] {
            assert_eq!(at(base, CID), Some(plain.clone()), "{base}");
        }
        assert_eq!(at("https://ipfs.io", &format!("ipfs/{CID}")), Some(plain.clone()));
        assert_eq!(at("https://ipfs.io", &format!("{CID}/a b.json#x")), Some(format!("{plain}/a%20b.json")));
        let base58 = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG";
        assert_eq!(at("http://127.0.0.1:8080", base58), Some(format!("http://127.0.0.1:8080/ipfs/{base58}")));
    }

    #[test]
    fn c_39_a_path_cannot_leave_its_content() {
        for path in [
            "",
            "..",
            "a/b",
            &format!("{CID}/../../admin"),
            &format!("{CID}/%2e%2e/%2e%2e/x"),
            &format!("{CID}?format=car"),
            "evil.example/bafy",
        ] {
            assert_eq!(at("https://ipfs.io", path), None, "{path}");
        }
    }

    #[test]
    fn a_gateway_is_a_plain_http_url() {
        for text in ["ipfs.io", "ftp://ipfs.io", "https://u:p@ipfs.io", "https://ipfs.io/?a", "https://ipfs.io/#a"] {
            assert_eq!(gateway(text), None, "{text}");
        }
    }
}
