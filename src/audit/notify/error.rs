/// A sink cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    /// A webhook's secret is none. It is not repeated.
    #[error("a webhook secret is “whsec_” and 24 to 64 bytes in base64, as the receiver shows it")]
    Secret,
    /// A webhook has no secret, or two sinks are the same.
    #[error("{0}")]
    Setup(&'static str),
}
