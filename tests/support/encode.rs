//! Content codings, applied.

use compression_codecs::brotli::params::EncoderParams;
use compression_codecs::core::util::{PartialBuffer, WriteBuffer};
use compression_codecs::core::Level;
use compression_codecs::zstd::params::CParameter;
use compression_codecs::{BrotliEncoder, DeflateEncoder, EncodeV2, GzipEncoder, ZlibEncoder, ZstdEncoder};

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    run(&mut GzipEncoder::new(Level::Default.into()), bytes)
}

pub fn zlib(bytes: &[u8]) -> Vec<u8> {
    run(&mut ZlibEncoder::new(Level::Default.into()), bytes)
}

pub fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    run(&mut DeflateEncoder::new(Level::Default.into()), bytes)
}

pub fn brotli(bytes: &[u8]) -> Vec<u8> {
    run(&mut BrotliEncoder::new(EncoderParams::default().quality(Level::Fastest)), bytes)
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    run(&mut ZstdEncoder::new(3), bytes)
}

/// zstd with a window of two to the power of `log`.
pub fn zstd_with_window(bytes: &[u8], log: u32) -> Vec<u8> {
    run(&mut ZstdEncoder::new_with_params(3, &[CParameter::window_log(log)]), bytes)
}

fn run(encoder: &mut dyn EncodeV2, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut piece = vec![0; 64 << 10];
    let mut input = PartialBuffer::new(bytes);
    while !input.unwritten().is_empty() {
        let mut output = WriteBuffer::new_initialized(&mut piece);
        encoder.encode(&mut input, &mut output).unwrap();
        out.extend_from_slice(output.written());
    }
    loop {
        let mut output = WriteBuffer::new_initialized(&mut piece);
        let done = encoder.finish(&mut output).unwrap();
        out.extend_from_slice(output.written());
        if done {
            return out;
        }
    }
}
