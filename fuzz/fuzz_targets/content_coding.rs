//! Encoded bodies from a server that may be hostile; the first byte chooses the codings.
#![no_main]

use cardproof::digest::Sha256Digest;
use cardproof::fetch::coding;
use libfuzzer_sys::fuzz_target;

const CAP: u64 = 1 << 16;

const CODINGS: [&[&str]; 10] = [
    &[],
    &["identity"],
    &["gzip"],
    &["x-gzip"],
    &["deflate"],
    &["br"],
    &["zstd"],
    &["gzip, gzip"],
    &["gzip", "br"],
    &["deflate, zstd"],
];

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, body)) = bytes.split_first() else { return };
    let codings = CODINGS[usize::from(*choice) % CODINGS.len()];
    match coding::decode_all(codings, body, CAP) {
        Ok(decoded) => {
            assert!(decoded.bytes <= CAP);
            let kept = decoded.kept.expect("so little is kept");
            assert_eq!(kept.len() as u64, decoded.bytes);
            assert_eq!(Sha256Digest::of(&kept), decoded.sha256);
        }
        Err(error) => {
            let _ = error.to_string();
        }
    }
});
