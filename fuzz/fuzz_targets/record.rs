//! What `agentOf` returns, from a node that may be hostile: by the fixed layout and by the layout's own schema.
#![no_main]

use cardproof::registry::schema::{decode_agent_of_with_schema, Type};
use cardproof::registry::{decode_agent_of, encode_agent_of, AgentRecord};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let plain = bytes.first() == Some(&8);
    let schema = if plain { AgentRecord::schema() } else { Type::option(AgentRecord::schema()) };
    let by_schema = decode_agent_of_with_schema(&schema, bytes);
    match decode_agent_of(bytes) {
        Ok(record) => {
            let again = match &record {
                Some(record) if plain => record.to_bytes(),
                record => encode_agent_of(record.as_ref()),
            };
            assert_eq!(again, bytes, "a record is read in one way only");
            assert_eq!(by_schema.as_ref(), Ok(&record), "layout and schema agree");
            if let Some(record) = record {
                let _ = (record.to_json(), record.to_schema_json(), record.consistency(record.token_id));
            }
        }
        Err(error) => {
            assert!(by_schema.is_err(), "layout and schema agree");
            let _ = error.to_string();
        }
    }
});
