//! Starting a registry, and replacing its code.

use concordium_rust_sdk::base::smart_contracts::WasmModule;
use concordium_smart_contract_testing::*;

use crate::{
    layout::{concat, some, string, token, Record},
    world::{code, module, modules_folder, World, ADMIN, ALICE, START},
};

/// The registry's module with one more custom section: the same code under another reference.
fn another_module(world: &mut World) -> ModuleReference {
    let mut bytes = std::fs::read(modules_folder().join("cis8004-registry.wasm.v1")).unwrap();
    bytes.extend(concat(&[&[0, 6, 5], b"again"]));
    let length = u32::try_from(bytes.len() - 8).unwrap();
    bytes[4..8].copy_from_slice(&length.to_be_bytes());
    let other = WasmModule::from_slice(&bytes).unwrap();
    world.chain.module_deploy_v1(Signer::with_one_key(), ADMIN, other).unwrap().module_reference
}

fn upgrade(to: ModuleReference, migrate: Option<(&str, &[u8])>) -> Vec<u8> {
    let migrate = migrate.map_or(vec![0], |(entry_point, parameter)| {
        let name = u16::try_from(entry_point.len()).unwrap().to_le_bytes();
        let length = u16::try_from(parameter.len()).unwrap().to_le_bytes();
        some(&concat(&[&name, entry_point.as_bytes(), &length, parameter]))
    });
    concat(&[to.as_ref(), &migrate])
}

fn running(world: &World) -> ModuleReference {
    world.chain.get_contract(world.registry).unwrap().module_reference
}

#[test]
fn the_admin_replaces_the_code_and_the_agents_stay() {
    let mut world = World::new();
    world.register_bare(ALICE);
    let new = another_module(&mut world);
    assert_ne!(running(&world), new);
    world.send(ADMIN, "upgrade", upgrade(new, None)).unwrap();
    assert_eq!(running(&world), new);
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), Record::bare(0, ALICE, START).answer());
    world.register_bare(ALICE);
    assert_eq!(world.ask("agentOf", token(1)).unwrap(), Record::bare(1, ALICE, START).answer());
}

#[test]
fn nobody_else_replaces_the_code() {
    let mut world = World::new();
    let (old, new) = (running(&world), another_module(&mut world));
    assert_eq!(code(world.send(ALICE, "upgrade", upgrade(new, None))), -7201);
    let contract = Address::Contract(world.cis8);
    assert_eq!(code(world.send_as(contract, "upgrade", upgrade(new, None))), -7201);
    assert_eq!(running(&world), old);
}

#[test]
fn a_migration_runs_in_the_new_code_and_its_failure_undoes_the_upgrade() {
    let mut world = World::new();
    let (old, new) = (running(&world), another_module(&mut world));
    // A change to an agent that does not exist: rejected by the entry point it calls.
    let failing = concat(&[&token(5), &string("key"), &string("value")]);
    assert_eq!(code(world.send(ADMIN, "upgrade", upgrade(new, Some(("setMetadata", &failing))))), i32::MIN + 20);
    assert_eq!(running(&world), old);
    world.send(ADMIN, "upgrade", upgrade(new, Some(("agentOf", &token(5))))).unwrap();
    assert_eq!(running(&world), new);
}

#[test]
fn a_module_that_is_not_there_or_has_another_contract_is_refused() {
    let mut world = World::new();
    assert_eq!(code(world.send(ADMIN, "upgrade", upgrade([1; 32].into(), None))), i32::MIN + 22);
    let cis8 = module("cis8-registry").get_module_ref();
    assert_eq!(code(world.send(ADMIN, "upgrade", upgrade(cis8, None))), i32::MIN + 23);
}

#[test]
fn a_registry_does_not_start_without_being_told_which_chain_it_is_on() {
    let mut world = World::new();
    let admin_and_cis8 = concat(&[&ADMIN.0, &[0; 16]]);
    for (module_name, init_name, parameter) in
        [("cis8004-registry", "init_CIS-8004", admin_and_cis8), ("cis8-registry", "init_CIS-8", vec![])]
    {
        let payload = InitContractPayload {
            amount: Amount::zero(),
            mod_ref: module(module_name).get_module_ref(),
            init_name: OwnedContractName::new(init_name.to_owned()).unwrap(),
            param: OwnedParameter::try_from(parameter).unwrap(),
        };
        let failed = world.chain.contract_init(Signer::with_one_key(), ADMIN, Energy::from(100_000), payload).unwrap_err();
        let ContractInitErrorKind::ExecutionError { error: InitExecutionError::Reject { reason, .. }, .. } = failed.kind else {
            panic!("{init_name} should reject: {:?}", failed.kind)
        };
        assert_eq!(reason, i32::MIN + 2, "{init_name}");
    }
}
