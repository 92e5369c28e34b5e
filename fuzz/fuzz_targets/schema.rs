//! Module schemas from a node that may be hostile, and values read by them: as a module, as a schema, and as a type (whose
//! length the first two bytes say) followed by a value.
#![no_main]

use cardproof::registry::schema::{decode_agent_of_with_schema, decode_owner_of_key_with_schema, ModuleSchema, Type};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = ModuleSchema::from_module_source(bytes);
    let _ = ModuleSchema::parse(bytes);
    let _ = ModuleSchema::parse_unversioned(bytes, 0);
    let _ = ModuleSchema::parse_unversioned(bytes, 1);

    let Some(([low, high], rest)) = bytes.split_first_chunk::<2>() else { return };
    let Some((ty, value)) = rest.split_at_checked(usize::from(u16::from_le_bytes([*low, *high]))) else { return };
    let Ok(ty) = Type::from_bytes(ty) else { return };
    assert_eq!(Type::from_bytes(&ty.to_bytes()).as_ref(), Ok(&ty));
    let Ok(value) = ty.decode(value) else { return };
    let _ = value.to_json();
    // Two variants of one name are allowed by the format and cannot be told apart by it: then encoding may refuse or choose.
    if let Ok(again) = ty.encode(&value) {
        let _ = ty.decode(&again);
        let _ = decode_agent_of_with_schema(&ty, &again);
        let _ = decode_owner_of_key_with_schema(&ty, &again);
    }
});
