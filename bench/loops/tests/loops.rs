//! Every loop does what it says. How long it takes is for nobody to assert.

use std::collections::BTreeSet;

use trunkline_bench_loops::{all, find};

#[test]
fn every_loop_has_the_right_outcome_each_time() {
    for one in all() {
        let mut once = one.start();
        for round in 1..=3 {
            assert!(once(), "{}, round {round}", one.name);
        }
    }
}

#[test]
fn names_are_unique_and_found() {
    let names: BTreeSet<&str> = all().map(|one| one.name).collect();
    assert_eq!(names.len(), all().count());
    for one in all() {
        assert_eq!(find(one.name).map(|found| found.about), Some(one.about));
        assert!(one.name.split('/').count() == 2 && one.rounds > 0, "{}", one.name);
    }
    assert!(find("envelope/none").is_none());
}
