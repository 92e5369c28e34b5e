//! What goes into a contract and what it logs: parameters of every entry point (the first byte chooses) and events.
#![no_main]

use cardproof::registry::parameter::EntryPoint;
use cardproof::registry::{KeyEvent, RegistryEvent};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let event = RegistryEvent::parse(bytes);
    assert_eq!(event.to_bytes().as_deref(), Ok(bytes), "an event is read in one way only");
    let _ = event.to_json();
    let event = KeyEvent::parse(bytes);
    assert_eq!(event.to_bytes().as_deref(), Ok(bytes), "an event is read in one way only");
    let _ = event.to_json();

    let Some((choice, parameter)) = bytes.split_first() else { return };
    let entry_point = EntryPoint::ALL[usize::from(*choice) % EntryPoint::ALL.len()];
    if let Ok(json) = entry_point.parameter_json(parameter) {
        let value = entry_point.parameter_schema().decode(parameter).expect("a parameter fits its schema");
        assert_eq!(value.to_json(), json);
        assert_eq!(entry_point.parameter_schema().encode(&value).as_deref(), Ok(parameter));
    }
});
