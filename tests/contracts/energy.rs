//! What calls cost. Bounds, not exact figures: they exist so that a change that makes the registry slow is noticed.

use crate::{
    layout::{register, set_uri, token},
    world::{World, ALICE},
};

const URI: &str = "https://rgraulus.github.io/xcf-demo4-agent-card/agent-card.json";

#[test]
fn reading_costs_little_and_not_more_among_many() {
    let mut world = World::new();
    world.send(ALICE, "register", register(Some(URI), Some([1; 32]), None, &[])).unwrap();
    let alone = world.energy_of("agentOf", token(0));
    for _ in 0..300 {
        world.register_bare(ALICE);
    }
    assert_eq!(world.energy_of("agentOf", token(0)), alone);
    println!("agentOf {alone} NRG");
    assert!(alone < 1_000, "{alone} NRG");
}

#[test]
fn writing_costs_about_what_it_does_on_the_real_chain() {
    let mut world = World::new();
    let registered = world.send(ALICE, "register", register(Some(URI), Some([1; 32]), None, &[])).unwrap().energy;
    let updated = world.send(ALICE, "setAgentURI", set_uri(0, Some(URI), Some([2; 32]))).unwrap().energy;
    println!("register {registered} NRG, setAgentURI {updated} NRG");
    // A real register with this parameter cost 2334 in all, the transaction's own cost included.
    assert!(registered < 3_000, "{registered} NRG");
    assert!(updated < 3_000, "{updated} NRG");
}
