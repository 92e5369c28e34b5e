//! Undoing the content codings of an answer (RFC 9110, section 8.4) while it streams: gzip, deflate, br and zstd.
//!
//! The HTTP client decodes nothing by itself, so that the digest on the wire is known too and every decoder has its limits:
//! no layer gives out more bytes than the cap, windows are those that HTTP allows, and a stream must end exactly where its
//! body ends.

use std::io;

use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use compression_codecs::core::util::{PartialBuffer, WriteBuffer};
use compression_codecs::zstd::params::DParameter;
use compression_codecs::{DecodeV2, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder};

use super::body::{Body, BodyStream, OverCap};

/// The most codings one body may have on top of each other.
const LAYERS: usize = 2;

/// The largest window of a zstd frame, as a power of two: 8 MiB (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;

/// How many bytes a decoder gives out at once.
const PIECE: usize = 32 << 10;

/// A body that cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodingError {
    /// A coding that is not one of gzip, deflate, br and zstd.
    #[error("the content coding “{0}” is not known; gzip, deflate, br and zstd are")]
    Unknown(String),
    /// More codings than are undone.
    #[error("the body has more than {LAYERS} content codings on top of each other")]
    TooDeep,
    /// The bytes are not of the coding.
    #[error("the body is not {0} as HTTP allows it")]
    Invalid(&'static str),
    /// The coded stream ends too early, though the body is complete.
    #[error("the {0} stream in the body ends too early")]
    Cut(&'static str),
    /// Bytes follow the end of the coded stream.
    #[error("bytes follow the end of the {0} stream in the body")]
    Trailing(&'static str),
    /// More bytes than the cap.
    #[error(transparent)]
    TooLarge(#[from] OverCap),
}

/// One content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// gzip members and zstd frames may follow each other and are one body (RFC 1952, section 2.2; RFC 8878, section 3).
    fn has_members(self) -> bool {
        matches!(self, Self::Gzip | Self::Zstd)
    }
}

/// Reads the values of `Content-Encoding` in the order in which the codings were applied.
fn codings(values: &[&str]) -> Result<Vec<Coding>, CodingError> {
    let mut found = Vec::new();
    for token in values.iter().flat_map(|value| value.split(',')).map(str::trim) {
        let coding = match token.to_ascii_lowercase().as_str() {
            "" | "identity" => continue,
            "gzip" | "x-gzip" => Coding::Gzip,
            "deflate" => Coding::Deflate,
            "br" => Coding::Brotli,
            "zstd" => Coding::Zstd,
            _ => return Err(CodingError::Unknown(token.chars().filter(char::is_ascii_graphic).take(24).collect())),
        };
        if found.len() == LAYERS {
            return Err(CodingError::TooDeep);
        }
        found.push(coding);
    }
    Ok(found)
}

/// The decoders of one body, outermost coding first.
pub(super) struct Decoding {
    layers: Vec<Layer>,
}

impl Decoding {
    /// For a body with these `Content-Encoding` values; no layer gives out more than `cap` bytes.
    pub(super) fn new(values: &[&str], cap: u64) -> Result<Self, CodingError> {
        let layers = codings(values)?.into_iter().rev().map(|coding| Layer::new(coding, cap)).collect();
        Ok(Self { layers })
    }

    /// Whether the body is not encoded at all.
    pub(super) fn is_identity(&self) -> bool {
        self.layers.is_empty()
    }

    /// Passes the next bytes on the wire through all layers into `body`.
    pub(super) fn push(&mut self, chunk: &[u8], body: &mut BodyStream) -> Result<(), CodingError> {
        push(&mut self.layers, chunk, body)
    }

    /// Checks that every stream has ended, now that the body on the wire has.
    pub(super) fn finish(&mut self, body: &mut BodyStream) -> Result<(), CodingError> {
        let mut layers = self.layers.as_mut_slice();
        while let Some((layer, inner)) = layers.split_first_mut() {
            layer.finish(&mut |piece| push(inner, piece, body))?;
            layers = inner;
        }
        Ok(())
    }
}

fn push(layers: &mut [Layer], chunk: &[u8], body: &mut BodyStream) -> Result<(), CodingError> {
    match layers.split_first_mut() {
        Some((layer, inner)) => layer.push(chunk, &mut |piece| push(inner, piece, body)),
        None => Ok(body.push(chunk)?),
    }
}

/// Decodes a whole body with these `Content-Encoding` values, in the order in which the codings were applied.
///
/// # Errors
/// [`CodingError`]; [`CodingError::TooLarge`] once a layer gives more than `cap` bytes.
pub fn decode_all(encodings: &[&str], bytes: &[u8], cap: u64) -> Result<Body, CodingError> {
    let mut decoding = Decoding::new(encodings, cap)?;
    let mut body = BodyStream::new(cap, None);
    decoding.push(bytes, &mut body)?;
    decoding.finish(&mut body)?;
    Ok(body.finish())
}

/// One decoder and where it stands.
struct Layer {
    coding: Coding,
    /// `None` until the first two bytes of a deflate stream have told which of its two forms it is.
    decoder: Option<Box<dyn DecodeV2 + Send>>,
    head: Vec<u8>,
    /// Whether a whole stream has been read and no byte after it.
    ended: bool,
    piece: Box<[u8]>,
    given: u64,
    cap: u64,
}

type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), CodingError>;

impl Layer {
    fn new(coding: Coding, cap: u64) -> Self {
        let decoder: Option<Box<dyn DecodeV2 + Send>> = match coding {
            Coding::Gzip => Some(Box::new(GzipDecoder::new())),
            Coding::Deflate => None,
            Coding::Brotli => Some(Box::new(HttpBrotli::default())),
            Coding::Zstd => Some(Box::new(ZstdDecoder::new_with_params(&[DParameter::window_log_max(ZSTD_WINDOW_LOG)]))),
        };
        Self { coding, decoder, head: Vec::new(), ended: false, piece: vec![0; PIECE].into(), given: 0, cap }
    }

    fn push(&mut self, chunk: &[u8], sink: Sink) -> Result<(), CodingError> {
        if self.decoder.is_some() {
            return self.decode(chunk, sink);
        }
        self.head.extend_from_slice(chunk);
        if let [first, second, ..] = *self.head {
            self.decoder = Some(deflate_form(first, second));
            let head = std::mem::take(&mut self.head);
            self.decode(&head, sink)?;
        }
        Ok(())
    }

    fn finish(&mut self, sink: Sink) -> Result<(), CodingError> {
        // A stream may owe its last bytes though all of its input has been taken.
        if self.decoder.is_some() && !self.ended {
            self.decode(&[], sink)?;
        }
        if self.ended {
            Ok(())
        } else {
            Err(CodingError::Cut(self.coding.name()))
        }
    }

    fn decode(&mut self, chunk: &[u8], sink: Sink) -> Result<(), CodingError> {
        let name = self.coding.name();
        let Some(decoder) = &mut self.decoder else {
            return Ok(());
        };
        let mut input = PartialBuffer::new(chunk);
        let mut full = chunk.is_empty();
        while full || !input.unwritten().is_empty() {
            if self.ended {
                if !self.coding.has_members() {
                    return Err(CodingError::Trailing(name));
                }
                decoder.reinit().map_err(|_| CodingError::Invalid(name))?;
                self.ended = false;
            }
            let starved = input.unwritten().is_empty();
            let before = input.unwritten().len();
            let mut output = WriteBuffer::new_initialized(&mut self.piece);
            let result = decoder.decode(&mut input, &mut output);
            full = output.has_no_spare_space();
            let (stalled, gave) = (input.unwritten().len() == before, output.written_len() as u64);
            self.given += gave;
            if self.given > self.cap {
                return Err(OverCap { cap: self.cap }.into());
            }
            sink(output.written())?;
            match result {
                Ok(true) => (self.ended, full) = (true, false),
                // Neither input taken nor output given: no decoder of a sound stream does that while it has input.
                Ok(false) if stalled && gave == 0 && !starved => return Err(CodingError::Invalid(name)),
                Ok(false) => {}
                // Asked whether it owed more without input, it did not.
                Err(_) if starved => return Ok(()),
                Err(_) => return Err(CodingError::Invalid(name)),
            }
        }
        Ok(())
    }
}

/// "deflate" means zlib (RFC 9110, section 8.4.1.2), but some servers send the bare stream. A zlib header has the method 8 in
/// its low four bits and is a multiple of 31; a bare stream that looks so would start with a stored block of odd padding.
fn deflate_form(first: u8, second: u8) -> Box<dyn DecodeV2 + Send> {
    if first & 0x0f == 8 && u16::from_be_bytes([first, second]).is_multiple_of(31) {
        Box::new(ZlibDecoder::new())
    } else {
        Box::new(DeflateDecoder::new())
    }
}

/// Brotli as HTTP has it (RFC 7932): windows up to 16 MiB. The usual decoder also takes the "large window" form, where a few
/// bytes can ask for a gigabyte of memory.
struct HttpBrotli(Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>);

impl Default for HttpBrotli {
    fn default() -> Self {
        let alloc = StandardAlloc::default;
        Self(Box::new(BrotliState::new_strict(alloc(), alloc(), alloc())))
    }
}

impl DecodeV2 for HttpBrotli {
    fn reinit(&mut self) -> io::Result<()> {
        *self = Self::default();
        Ok(())
    }

    fn decode(&mut self, input: &mut PartialBuffer<&[u8]>, output: &mut WriteBuffer<'_>) -> io::Result<bool> {
        let (mut taken, mut given) = (0, 0);
        let (from, to) = (input.unwritten(), output.initialize_unwritten());
        let (mut from_left, mut to_left) = (from.len(), to.len());
        let result = BrotliDecompressStream(&mut from_left, &mut taken, from, &mut to_left, &mut given, to, &mut 0, &mut self.0);
        input.advance(taken);
        output.advance(given);
        match result {
            BrotliResult::ResultSuccess => Ok(true),
            BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => Ok(false),
            BrotliResult::ResultFailure => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn flush(&mut self, output: &mut WriteBuffer<'_>) -> io::Result<bool> {
        self.decode(&mut PartialBuffer::new(&[][..]), output)
    }

    fn finish(&mut self, output: &mut WriteBuffer<'_>) -> io::Result<bool> {
        self.decode(&mut PartialBuffer::new(&[][..]), output)
    }
}

#[cfg(test)]
mod tests {
    use compression_codecs::core::Level;
    use compression_codecs::{DeflateEncoder, EncodeV2, GzipEncoder, ZlibEncoder, ZstdEncoder};
    use proptest::prelude::*;

    use super::*;
    use crate::digest::Sha256Digest;

    fn encode(encoder: &mut dyn EncodeV2, bytes: &[u8]) -> Vec<u8> {
        let mut room = vec![0; bytes.len() + 4096];
        let mut output = WriteBuffer::new_initialized(&mut room);
        // The encoder takes a call without input for a mistake.
        if !bytes.is_empty() {
            encoder.encode(&mut PartialBuffer::new(bytes), &mut output).unwrap();
        }
        assert!(encoder.finish(&mut output).unwrap());
        output.written().to_vec()
    }

    proptest! {
        #[test]
        fn any_body_comes_back_whatever_pieces_it_arrives_in(bytes in prop::collection::vec(any::<u8>(), 0..3000), step in 1..200_usize) {
            let level = || Level::Default.into();
            let packed = [
                ("gzip", encode(&mut GzipEncoder::new(level()), &bytes)),
                ("deflate", encode(&mut ZlibEncoder::new(level()), &bytes)),
                ("zstd", encode(&mut ZstdEncoder::new(3), &bytes)),
            ];
            for (coding, wire) in packed {
                let mut decoding = Decoding::new(&[coding], 4000).unwrap();
                let mut body = BodyStream::new(4000, None);
                for chunk in wire.chunks(step) {
                    decoding.push(chunk, &mut body).unwrap();
                }
                decoding.finish(&mut body).unwrap();
                prop_assert_eq!(body.finish().sha256, Sha256Digest::of(&bytes));
            }
        }

        #[test]
        fn garbage_is_an_error_and_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), which in 0..4_usize) {
            let coding = ["gzip", "deflate", "br", "zstd"][which];
            if let Ok(body) = decode_all(&[coding], &bytes, 1000) {
                prop_assert!(body.bytes <= 1000);
            }
        }
    }

    #[test]
    fn a_coded_body_may_be_empty() {
        let level = || Level::Default.into();
        let packed = [
            ("gzip", encode(&mut GzipEncoder::new(level()), b"")),
            ("deflate", encode(&mut ZlibEncoder::new(level()), b"")),
            ("deflate", encode(&mut DeflateEncoder::new(level()), b"")),
            ("zstd", encode(&mut ZstdEncoder::new(3), b"")),
            ("br", vec![0x3b]),
        ];
        for (coding, wire) in packed {
            let body = decode_all(&[coding], &wire, 99).unwrap();
            assert_eq!((body.bytes, body.sha256), (0, Sha256Digest::of(b"")), "{coding}");
        }
    }

    #[test]
    fn every_prefix_of_a_coded_body_is_cut() {
        let wire = encode(&mut GzipEncoder::new(Level::Default.into()), b"a card");
        for end in 0..wire.len() {
            assert_eq!(decode_all(&["gzip"], &wire[..end], 99), Err(CodingError::Cut("gzip")), "{end}");
        }
    }
}
