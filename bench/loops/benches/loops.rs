//! Times every loop of the table: `cargo bench -p trunkline-bench-loops -- envelope`.

use criterion::Criterion;
use trunkline_bench_loops::all;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for one in all() {
        // Some take a while to set up: only those are that are asked for.
        let mut once = None;
        criterion.bench_function(one.name, |bencher| {
            let once = once.get_or_insert_with(|| one.start());
            bencher.iter(once);
        });
    }
    criterion.final_summary();
}
