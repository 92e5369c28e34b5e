use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde_json::{json, Value};

use crate::anchor::json::read_json;
use crate::anchor::Transaction;
use crate::registry::Timestamp;

use super::{Journal, JournalError};

impl Journal {
    /// Remembers a transaction that was built and may be signed and sent elsewhere, and says when another one with the same nonce was
    /// built that has not expired: only one of the two can be carried out (fault C-75).
    ///
    /// Kept beside the journal in `….built`. A line that cannot be read is dropped: this only ever warns.
    ///
    /// # Errors
    /// [`JournalError::Disk`].
    pub fn promise(&self, transaction: &Transaction, now: Timestamp) -> Result<Option<Timestamp>, JournalError> {
        let path = self.path().with_extension("built");
        let disk = |cause| JournalError::Disk { path: path.clone(), cause };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(cause) => return Err(disk(cause)),
        };
        let number = |json: &Value, field: &str| json.get(field).and_then(Value::as_u64);
        let known = text.lines().filter_map(|line| read_json(line.as_bytes()).ok());
        let mut open: Vec<Value> =
            known.filter(|json| number(json, "expiry").is_some_and(|expiry| expiry > now.0 / 1000)).collect();
        let hash = hex::encode(transaction.hash_to_sign());
        let is_this = |json: &Value| json.get("hash_to_sign").and_then(Value::as_str) == Some(&hash);
        let earlier = open.iter().find(|json| number(json, "nonce") == Some(transaction.nonce()) && !is_this(json));
        let earlier = earlier.and_then(|json| number(json, "time_ms")).map(Timestamp);
        if !open.iter().any(is_this) {
            open.push(json!({
                "nonce": transaction.nonce(), "expiry": transaction.expiry(), "hash_to_sign": hash, "time_ms": now.0,
            }));
        }
        let write = || {
            let folder = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            for line in &open {
                writeln!(file, "{line}")?;
            }
            file.persist(&path).map_err(|error| error.error)
        };
        write().map_err(disk)?;
        Ok(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchor::{Call, Energy};
    use crate::identity::{AccountAddress, ContractAddress, TESTNET};

    #[test]
    fn c_75_two_builds_do_not_share_a_nonce_unnoticed() {
        let folder = tempfile::tempdir().unwrap();
        let sender = AccountAddress([7; 32]);
        let journal = Journal::of(folder.path(), &TESTNET.genesis, sender);
        let build = |nonce, expiry, parameter| {
            let call = Call { contract: ContractAddress::new(1, 0), receive_name: "CIS-8004.revoke".into(), parameter };
            Transaction::new(call, sender, nonce, expiry, Energy::Execution(1), 1).unwrap()
        };
        let at = |seconds: u64| Timestamp(seconds * 1000);
        assert_eq!(journal.promise(&build(1, 600, vec![1]), at(0)).unwrap(), None);
        assert_eq!(journal.promise(&build(1, 600, vec![1]), at(5)).unwrap(), None, "the same one again");
        assert_eq!(journal.promise(&build(1, 610, vec![2]), at(10)).unwrap(), Some(at(0)));
        assert_eq!(journal.promise(&build(2, 610, vec![2]), at(10)).unwrap(), None, "another nonce");
        assert_eq!(journal.promise(&build(1, 2000, vec![3]), at(1000)).unwrap(), None, "the others have expired");
    }
}
