//! Reading what a caller or another contract handed over.

use concordium_std::*;

/// Parses the whole parameter of a call.
///
/// The bytes are copied out of the host in one call first: parsing straight from the host makes one host call for each
/// byte of every String and byte list in it, thousands for a long URI. Bytes after the parameter are ignored, as every
/// contract made with concordium-std does.
///
/// # Errors
/// When the bytes are not a `T`.
pub fn parameter<T: Deserial>(ctx: &ReceiveContext) -> ParseResult<T> {
    let mut cursor = ctx.parameter_cursor();
    let mut bytes = vec![0u8; cursor.size() as usize];
    cursor.read_exact(&mut bytes)?;
    from_bytes(&bytes)
}

/// Parses the whole answer of another contract; `None` when it is not a `T`.
pub fn answer<T: Deserial>(mut response: impl HasCallResponse) -> Option<T> {
    let mut bytes = vec![0u8; response.size() as usize];
    response.read_exact(&mut bytes).ok()?;
    from_bytes(&bytes).ok()
}
