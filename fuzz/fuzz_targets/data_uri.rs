//! `data:` URIs from a chain: whoever registered an agent wrote them.
#![no_main]

use cardproof::digest::Sha256Digest;
use cardproof::fetch::data_uri;
use libfuzzer_sys::fuzz_target;

const CAP: u64 = 4096;

fuzz_target!(|text: &str| {
    // Most inputs would not begin as a data: URI does.
    for uri in [text, &format!("data:{text}")] {
        match data_uri::decode(uri, CAP) {
            Ok(data) => {
                assert!(data.body.bytes <= CAP);
                let kept = data.body.kept.expect("so little is kept");
                assert_eq!(kept.len() as u64, data.body.bytes);
                assert_eq!(Sha256Digest::of(&kept), data.body.sha256);
            }
            Err(error) => {
                let _ = error.to_string();
            }
        }
    }
});
