//! The inner loops of Trunkline, each by its name: what criterion times, and what callgrind counts the instructions of.
//!
//! Every loop runs public functions of the real crates. What is inside of them is measured through the nearest
//! function that is public: nothing is copied, and nothing was made public for it.
//!
//! ```
//! let reading = trunkline_bench_loops::find("envelope/read_small").expect("it is in the table");
//! let mut once = reading.start();
//! assert!(once(), "its outcome is right");
//! ```
//!
//! `cargo bench -p trunkline-bench-loops -- envelope` times some of them; `cargo xtask bench instructions` counts.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up says so by a panic")]

mod client;
mod clock;
mod dispatch;
mod envelope;
mod framing;
mod gate;
mod header;
mod journal;
mod samples;
mod schema;
mod sse;
mod stage;

pub use clock::cpu_time;

/// One iteration. It says whether its outcome was right.
pub type Iteration = Box<dyn FnMut() -> bool>;

/// One loop of the table.
#[derive(Debug, Clone, Copy)]
pub struct Loop {
    /// Its group and what it does: `envelope/read_small`.
    pub name: &'static str,
    /// What one iteration is, in one line.
    pub about: &'static str,
    /// How many iterations are enough for a count of instructions that can be repeated.
    pub rounds: u32,
    setup: fn() -> Iteration,
}

impl Loop {
    const fn new(name: &'static str, about: &'static str, rounds: u32, setup: fn() -> Iteration) -> Self {
        Self {
            name,
            about,
            rounds,
            setup,
        }
    }

    /// Sets it up; what that costs is not part of an iteration.
    pub fn start(&self) -> Iteration {
        (self.setup)()
    }
}

const GROUPS: &[&[Loop]] = &[
    envelope::LOOPS,
    framing::LOOPS,
    sse::LOOPS,
    header::LOOPS,
    schema::LOOPS,
    dispatch::LOOPS,
    client::LOOPS,
    journal::LOOPS,
    gate::LOOPS,
    stage::LOOPS,
];

/// All loops, in the order of the report.
pub fn all() -> impl Iterator<Item = &'static Loop> {
    GROUPS.iter().flat_map(|group| group.iter())
}

/// The loop with this name.
pub fn find(name: &str) -> Option<&'static Loop> {
    all().find(|one| one.name == name)
}
