use std::fmt::Debug;

use cardproof::registry::parameter::*;
use cardproof::registry::schema::{decode_agent_of_with_schema, Type};
use cardproof::registry::{
    decode_agent_of, encode_agent_of, Added, AgentRecord, EventTime, KeyEvent, MetadataUrl, RegistryEvent,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::strategies::*;

/// Bytes, schema and schema JSON of a parameter must tell the same story.
fn check<P: Parameter + PartialEq + Debug>(parameter: P) -> Result<(), TestCaseError> {
    let bytes = parameter.to_bytes().unwrap();
    prop_assert_eq!(&P::from_bytes(&bytes).unwrap(), &parameter);
    let json = parameter.to_schema_json();
    prop_assert_eq!(&P::schema().decode(&bytes).unwrap().to_json(), &json);
    prop_assert_eq!(&P::ENTRY_POINT.parameter_json(&bytes).unwrap(), &json);
    prop_assert_eq!(&P::ENTRY_POINT.parameter_from_json(&json).unwrap(), &bytes);
    prop_assert!(P::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
    prop_assert!(P::from_bytes(&bytes[..bytes.len() - 1]).is_err());
    Ok(())
}

fn event_time() -> impl Strategy<Value = EventTime> {
    option::of(time()).prop_map(EventTime)
}

fn registry_event() -> impl Strategy<Value = RegistryEvent> {
    let registered = (token_id(), account(), option::of(text()), option::of(digest()), option::of(reference()), time()).prop_map(
        |(token_id, owner, agent_uri, metadata_hash, external_reference, time)| RegistryEvent::Registered {
            token_id,
            owner,
            agent_uri,
            metadata_hash,
            external_reference,
            time,
        },
    );
    let amount = || any::<u64>().prop_map(TokenAmount);
    prop_oneof![
        registered,
        (token_id(), option::of(text()), option::of(digest()), time()).prop_map(|(token_id, agent_uri, metadata_hash, time)| {
            RegistryEvent::UriUpdated { token_id, agent_uri, metadata_hash, time }
        }),
        (token_id(), option::of(reference()), event_time()).prop_map(|(token_id, external_reference, time)| {
            RegistryEvent::ExternalReferenceSet { token_id, external_reference, time }
        }),
        (token_id(), text(), bytes(), event_time()).prop_map(|(token_id, key, value, time)| RegistryEvent::MetadataSet {
            token_id,
            key,
            value,
            time
        }),
        (token_id(), account(), option::of(text()), event_time())
            .prop_map(|(token_id, owner, reason, time)| RegistryEvent::Revoked { token_id, owner, reason, time }),
        (token_id(), option::of(account()), event_time()).prop_map(|(token_id, wallet, time)| RegistryEvent::AgentWalletSet {
            token_id,
            wallet,
            time
        }),
        (token_id(), amount(), address(), address()).prop_map(|(token_id, amount, from, to)| RegistryEvent::Transfer {
            token_id,
            amount,
            from,
            to
        }),
        (token_id(), amount(), address()).prop_map(|(token_id, amount, owner)| RegistryEvent::Mint { token_id, amount, owner }),
        (token_id(), amount(), address()).prop_map(|(token_id, amount, owner)| RegistryEvent::Burn { token_id, amount, owner }),
        (change(), address(), address()).prop_map(|(update, owner, operator)| RegistryEvent::UpdateOperator {
            update,
            owner,
            operator
        }),
        (token_id(), text(), option::of(digest()))
            .prop_map(|(token_id, url, hash)| RegistryEvent::TokenMetadata { token_id, metadata_url: MetadataUrl { url, hash } }),
    ]
}

fn key_event() -> impl Strategy<Value = KeyEvent> {
    let details = option::of(("[a-z]{1,9}", key_metadata()));
    prop_oneof![
        (account(), external_key(), details, event_time()).prop_map(|(owner, external_key, details, time)| {
            let (proof_scheme, metadata) = details.unzip();
            KeyEvent::Registered { owner, external_key, proof_scheme: Added(proof_scheme), metadata: Added(metadata), time }
        }),
        (account(), external_key(), event_time()).prop_map(|(owner, external_key, time)| KeyEvent::Revoked {
            owner,
            external_key,
            time
        }),
        (account(), external_key(), key_metadata(), event_time())
            .prop_map(|(owner, external_key, metadata, time)| KeyEvent::MetadataUpdated { owner, external_key, metadata, time }),
    ]
}

proptest! {
    #[test]
    fn every_record_reads_back_by_layout_and_by_schema(record in record()) {
        let plain = record.to_bytes();
        let optional = encode_agent_of(Some(&record));
        let schema = AgentRecord::schema();
        let readings = [
            decode_agent_of(&plain),
            decode_agent_of(&optional),
            decode_agent_of_with_schema(&schema, &plain),
            decode_agent_of_with_schema(&Type::option(schema.clone()), &optional),
        ];
        for reading in readings {
            let read = reading.unwrap().unwrap();
            // Accounts are equal as aliases are; the bytes must be equal too.
            prop_assert_eq!(read.to_bytes(), plain.clone());
            prop_assert_eq!(&read, &record);
        }
        prop_assert_eq!(schema.decode(&plain).unwrap().to_json(), record.to_schema_json());
        prop_assert_eq!(schema.encode_json(&record.to_schema_json()).unwrap(), plain);
    }

    #[test]
    fn every_parameter_of_the_registry_reads_back(
        id in token_id(), uri in option::of(text()), hash in option::of(digest()), reference in option::of(reference()),
        entries in metadata(), key in text(), value in bytes(), wallet in account(), deadline in time(),
        signatures in signatures(), bound in reference(),
    ) {
        check(Register {
            agent_uri: uri.clone(), metadata_hash: hash, external_reference: reference.clone(), initial_metadata: entries,
        })?;
        check(SetAgentUri { token_id: id, agent_uri: uri.clone(), metadata_hash: hash })?;
        check(SetExternalReference { token_id: id, external_reference: reference })?;
        check(SetMetadata { token_id: id, key: key.clone(), value })?;
        check(GetMetadata { token_id: id, key })?;
        check(Revoke { token_id: id, reason: uri })?;
        check(SetAgentWallet { token_id: id, new_wallet: wallet, deadline, signatures })?;
        check(AgentOf(id))?;
        check(AgentByExternalReference(bound))?;
        check(GetAgentWallet(id))?;
        check(GetAgentWalletNonce(id))?;
    }

    #[test]
    fn every_parameter_of_cis_2_and_cis_0_reads_back(
        id in token_id(), amount: u64, from in address(), to in receiver(), data in bytes(), update in change(),
        standards in vec("[A-Z0-9-]{0,9}", 0..4),
    ) {
        let transfer = Transfer { token_id: id, amount: TokenAmount(amount), from, to, data: AdditionalData(data) };
        check(Transfers(vec![transfer.clone(), transfer]))?;
        check(UpdateOperators(vec![UpdateOperator { update, operator: from }]))?;
        check(BalanceOf(vec![BalanceQuery { token_id: id, address: from }; 2]))?;
        check(OperatorOf(vec![OperatorQuery { owner: from, address: from }]))?;
        check(TokenMetadata(vec![id; 3]))?;
        check(Supports(standards))?;
    }

    #[test]
    fn every_parameter_of_the_key_registry_reads_back(
        external_key in external_key(), scheme in text(), signature in bytes(), metadata in key_metadata(),
    ) {
        check(RegisterExternalKey {
            external_key: external_key.clone(), proof: KeyProof { scheme, signature }, metadata: metadata.clone(),
        })?;
        check(UpdateKeyMetadata { external_key: external_key.clone(), metadata })?;
        check(RevokeKey { external_key: external_key.clone() })?;
        check(OwnerOfKey { external_key })?;
    }

    #[test]
    fn every_event_reads_back(event in registry_event(), key_event in key_event()) {
        prop_assert_eq!(&RegistryEvent::parse(&event.to_bytes().unwrap()), &event);
        prop_assert_eq!(&KeyEvent::parse(&key_event.to_bytes().unwrap()), &key_event);
    }

    #[test]
    fn every_type_and_value_reads_back((ty, value) in typed_value()) {
        prop_assert_eq!(&Type::from_bytes(&ty.to_bytes()).unwrap(), &ty);
        let bytes = ty.encode(&value).unwrap();
        prop_assert_eq!(&ty.decode(&bytes).unwrap(), &value);
        prop_assert_eq!(&ty.value_from_json(&value.to_json()).unwrap(), &value);
    }
}

#[test]
fn what_is_too_long_for_its_length_is_refused() {
    let error = Supports(vec!["x".repeat(256)]).to_bytes().unwrap_err();
    assert_eq!(error.to_string(), "the name of a standard is too long: its length must fit into 1 byte(s)");
    let data = AdditionalData(vec![0; 65_536]);
    let address = cardproof::identity::AccountAddress([0; 32]);
    let transfer = Transfer {
        token_id: cardproof::identity::TokenId(1),
        amount: TokenAmount(1),
        from: Address::Account(address),
        to: Receiver::Account(address),
        data,
    };
    assert!(Transfers(vec![transfer]).to_bytes().unwrap_err().to_string().contains("must fit into 2 byte(s)"));
    let register = Register { agent_uri: Some("x".repeat(65_536)), ..Register::default() };
    assert_eq!(register.to_bytes().unwrap_err().to_string(), "the parameter has 65547 bytes; a contract takes at most 65535");
}

#[test]
fn entry_points_are_found_by_their_receive_names() {
    for entry_point in EntryPoint::ALL {
        assert_eq!(EntryPoint::from_receive_name(entry_point.receive_name()), Some(*entry_point));
    }
    assert_eq!(EntryPoint::SetAgentUri.receive_name(), "CIS-8004.setAgentURI");
    assert_eq!(EntryPoint::from_receive_name("CIS-8004.burn"), None);
}

#[test]
fn a_token_id_of_another_length_is_no_parameter() {
    let error = EntryPoint::AgentOf.parameter_from_json(&serde_json::json!("1f01")).unwrap_err();
    assert!(error.to_string().contains("is not a token id of 8 bytes"), "{error}");
}
