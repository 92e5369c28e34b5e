use std::error::Error;
use std::time::{Duration, SystemTime};

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError};

use super::causes::find;
use super::verifier::ChainFault;

/// What TLS made of it, if that is among the causes of `error`: what follows the server's name in a sentence, such as
/// `is not trusted: its certificate has expired`.
pub(crate) fn explain(error: &(dyn Error + 'static)) -> Option<String> {
    find::<rustls::Error>(error).map(fault)
}

fn fault(error: &rustls::Error) -> String {
    use rustls::Error as Tls;
    match error {
        Tls::InvalidCertificate(fault) => format!("is not trusted: {}", certificate_fault(fault)),
        Tls::InvalidMessage(_) => "does not speak TLS on this port; does it speak plain http?".to_owned(),
        Tls::PeerIncompatible(_) => "has no TLS version or cipher in common with us; TLS 1.2 and 1.3 are spoken".to_owned(),
        Tls::AlertReceived(alert) => format!("refuses the TLS handshake: {}", alert_reason(*alert)),
        Tls::NoCertificatesPresented => "presents no certificate".to_owned(),
        _ => "breaks the TLS protocol".to_owned(),
    }
}

fn certificate_fault(fault: &CertificateError) -> String {
    use CertificateError as Fault;
    match fault {
        Fault::Expired => "its certificate has expired".to_owned(),
        Fault::ExpiredContext { not_after, .. } => format!("its certificate expired on {}", date(*not_after)),
        Fault::NotValidYet => "its certificate is not valid yet".to_owned(),
        Fault::NotValidYetContext { not_before, .. } => format!("its certificate is not valid before {}", date(*not_before)),
        Fault::NotValidForName | Fault::NotValidForNameContext { .. } => "its certificate is for another host".to_owned(),
        Fault::Revoked => "its certificate has been revoked".to_owned(),
        Fault::UnknownIssuer => "its certificate comes from an unknown authority".to_owned(),
        Fault::BadEncoding => "its certificate is malformed".to_owned(),
        Fault::BadSignature => "the signature of its certificate is wrong".to_owned(),
        Fault::InvalidPurpose | Fault::InvalidPurposeContext { .. } => "its certificate is not for servers".to_owned(),
        Fault::Other(other) => match other.0.downcast_ref::<ChainFault>() {
            Some(fault) => fault.to_string(),
            None => broken_rule(other.0.downcast_ref()).to_owned(),
        },
        _ => "its certificate uses what this program cannot check".to_owned(),
    }
}

fn broken_rule(rule: Option<&webpki::Error>) -> &'static str {
    use webpki::Error as Rule;
    match rule {
        Some(Rule::CaUsedAsEndEntity) => {
            "its certificate is an authority's own, which no server may show; make one with basicConstraints CA:FALSE, or sign one \
             with it"
        }
        Some(Rule::EndEntityUsedAsCa) => "its certificate was signed with one that is no authority's",
        Some(Rule::PathLenConstraintViolated) => "an authority above its certificate may not have this many authorities below it",
        Some(Rule::NameConstraintViolation) => "an authority above its certificate may not vouch for this name",
        Some(Rule::UnsupportedCriticalExtension) => {
            "its certificate, or one above it, has an extension that must be understood and is not known here"
        }
        _ => "its certificate breaks a rule for server certificates",
    }
}

fn alert_reason(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::HandshakeFailure => "no common settings".to_owned(),
        AlertDescription::ProtocolVersion => "no common version of TLS".to_owned(),
        AlertDescription::UnrecognisedName => "it does not know the name".to_owned(),
        AlertDescription::AccessDenied => "access denied".to_owned(),
        AlertDescription::CertificateRequired => "it demands a certificate from us".to_owned(),
        AlertDescription::InternalError => "an error of its own".to_owned(),
        other => format!("TLS alert {}", u8::from(other)),
    }
}

fn date(time: UnixTime) -> String {
    let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(time.as_secs()));
    // The date format ends with the year 9999.
    let shown = at.filter(|_| time.as_secs() < 253_402_300_800);
    shown.map_or_else(|| "a date far in the future".to_owned(), httpdate::fmt_http_date)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::OtherError;

    use super::*;

    #[test]
    fn c_48_each_certificate_fault_has_its_own_sentence() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let faults = [
            CertificateError::Expired,
            CertificateError::NotValidYet,
            CertificateError::NotValidForName,
            CertificateError::Revoked,
            CertificateError::UnknownIssuer,
            CertificateError::BadEncoding,
            CertificateError::BadSignature,
            CertificateError::InvalidPurpose,
            CertificateError::ExpiredContext { time: at(0), not_after: at(0) },
            CertificateError::NotValidYetContext { time: at(0), not_before: at(u64::MAX) },
        ];
        let broken = [
            webpki::Error::CaUsedAsEndEntity,
            webpki::Error::EndEntityUsedAsCa,
            webpki::Error::PathLenConstraintViolated,
            webpki::Error::NameConstraintViolation,
            webpki::Error::UnsupportedCriticalExtension,
            webpki::Error::ExtensionValueInvalid,
        ];
        let broken = broken.map(|rule| CertificateError::Other(OtherError(Arc::new(rule))));
        let faults: Vec<CertificateError> = faults.into_iter().chain(broken).collect();
        let sentences: std::collections::HashSet<_> = faults.iter().map(certificate_fault).collect();
        assert_eq!(sentences.len(), faults.len());
        assert!(sentences.contains("its certificate expired on Thu, 01 Jan 1970 00:00:00 GMT"));
    }

    #[test]
    fn c_48_no_sentence_about_tls_has_debug_text() {
        for error in [
            rustls::Error::AlertReceived(AlertDescription::from(0xf0)),
            rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType),
            rustls::Error::InvalidCertificate(CertificateError::UnhandledCriticalExtension),
            rustls::Error::General("a { b }".into()),
        ] {
            let sentence = explain(&std::io::Error::other(error)).unwrap();
            assert!(!sentence.contains(['(', '{', '"']), "{sentence}");
        }
        assert_eq!(explain(&std::io::Error::other("something else")), None);
    }
}
