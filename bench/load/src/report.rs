//! Tables of medians, with ratios within each round: so a slow drift of the machine does not show in a ratio.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::sample::Sample;

/// One value a round, by the round.
type Rounds = BTreeMap<usize, f64>;

/// One table for each transport and revision. The first peer of each is the subject: the other ones get a column with
/// its ratio to them.
pub(crate) fn servers(samples: &[Sample]) -> String {
    let mut text = String::new();
    for (transport, revision) in in_order(samples, |sample| (sample.transport, sample.revision)) {
        let _ = writeln!(text, "### {transport}, {revision}\n");
        let here = |sample: &&Sample| (sample.transport, sample.revision) == (transport, revision);
        let these: Vec<&Sample> = samples.iter().filter(here).collect();
        text.push_str(&compared(&these));
        text.push('\n');
    }
    text
}

/// One table of all clients for each transport.
pub(crate) fn clients(samples: &[Sample]) -> String {
    let mut text = String::new();
    for transport in in_order(samples, |sample| sample.transport) {
        let _ = writeln!(text, "### client, {transport}\n");
        let these: Vec<&Sample> = samples.iter().filter(|sample| sample.transport == transport).collect();
        text.push_str(&compared(&these));
        text.push('\n');
    }
    text
}

/// One row for each size, with its ratio to the smallest size.
pub(crate) fn growth(samples: &[Sample]) -> String {
    let mut text =
        String::from("| growth | over | size | server CPU | to the smallest size |\n|---|---|---|---|---|\n");
    let mut smallest: BTreeMap<(String, &str, &str), Rounds> = BTreeMap::new();
    let mut rows = in_order(samples, |sample| {
        (sample.transport, sample.revision, sample.metric.as_str())
    });
    // What grows stands together, whatever it goes over. The sort keeps the order of sizes.
    rows.sort_by_key(|(_, _, metric)| Reverse(metric.split('.').next()));
    for (transport, revision, metric) in rows {
        let matching = samples.iter().filter(|sample| {
            (sample.transport, sample.revision, sample.metric.as_str()) == (transport, revision, metric)
        });
        let values = by_round(matching);
        let mut parts = metric.split('.');
        let (what, size) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (what, unit) = match what {
            "tools" => ("a call, tools of the server", "µs"),
            "sessions" => ("a call, open sessions", "µs"),
            "message" => ("echo of a message in pieces of 4 KiB, MiB", "ms"),
            other => (other, ""),
        };
        let first = smallest
            .entry((what.to_owned(), transport, revision))
            .or_insert_with(|| values.clone());
        let ratio = if *first == values {
            String::new()
        } else {
            ratio(&values, first)
        };
        let _ = writeln!(
            text,
            "| {what} | {transport}, {revision} | {size} | {} {unit} | {ratio} |",
            cell(&values)
        );
    }
    text
}

/// Peers side by side, a row for each metric.
fn compared(samples: &[&Sample]) -> String {
    let peers = in_order(samples, |sample| sample.peer.as_str());
    let Some((subject, others)) = peers.split_first() else {
        return String::new();
    };
    let mut head = format!("| | {} |", peers.join(" | "));
    for other in others {
        let _ = write!(head, " {subject} to {other} |");
    }
    let mut text = format!("{head}\n|---|{}\n", "---|".repeat(peers.len() + others.len()));
    for metric in in_order(samples, |sample| sample.metric.as_str()) {
        let of = |peer: &str| {
            let matching = samples
                .iter()
                .filter(|sample| sample.metric == metric && sample.peer == peer);
            by_round(matching.copied())
        };
        let _ = write!(text, "| {} |", label(metric));
        for peer in &peers {
            let _ = write!(text, " {} |", cell(&of(peer)));
        }
        for other in others {
            let _ = write!(text, " {} |", ratio(&of(subject), &of(other)));
        }
        text.push('\n');
    }
    text
}

/// What a metric is called in a table.
fn label(metric: &str) -> String {
    match metric.split('.').collect::<Vec<_>>()[..] {
        ["cold"] => "cold start, ms".to_owned(),
        ["memory", "idle"] => "resident, idle, MiB".to_owned(),
        ["memory", "session"] => "an idle session, KiB".to_owned(),
        ["memory", "stream"] => "a session with its stream, KiB".to_owned(),
        ["client", "calls"] => "one after another: calls/s".to_owned(),
        ["client", "cpu"] => "one after another: client CPU, µs".to_owned(),
        ["blob", _, "mib"] => "1 MiB answers: MiB/s".to_owned(),
        ["blob", _, "cpu"] => "1 MiB answers: CPU, µs".to_owned(),
        [tool, in_flight, "calls"] => format!("{tool}, {in_flight} in flight: calls/s"),
        [tool, in_flight, "cpu"] => format!("{tool}, {in_flight} in flight: CPU, µs"),
        [tool, in_flight, percentile] => format!("{tool}, {in_flight} in flight: {percentile}, µs"),
        _ => metric.to_owned(),
    }
}

/// Every different key, in the order of its first sample.
fn in_order<'a, S, K: PartialEq>(samples: &'a [S], key: impl Fn(&'a S) -> K) -> Vec<K> {
    let mut keys = Vec::new();
    for sample in samples {
        let key = key(sample);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn by_round<'a>(samples: impl Iterator<Item = &'a Sample>) -> Rounds {
    let mut values: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for sample in samples {
        values.entry(sample.round).or_default().push(sample.value);
    }
    values
        .into_iter()
        .map(|(round, values)| (round, median(values)))
        .collect()
}

/// The median over the rounds, and how far the farthest round was from it.
fn cell(rounds: &Rounds) -> String {
    if rounds.is_empty() {
        return "–".to_owned();
    }
    let values: Vec<f64> = rounds.values().copied().collect();
    let middle = median(values.clone());
    let farthest = values.iter().map(|value| (value - middle).abs()).fold(0.0, f64::max);
    // One round says nothing of how far others would be from it.
    if values.len() == 1 || middle == 0.0 {
        return number(middle);
    }
    format!("{} ±{:.0}%", number(middle), farthest / middle.abs() * 100.0)
}

/// The median of the ratios within a round, and the smallest and the largest.
fn ratio(above: &Rounds, below: &Rounds) -> String {
    let ratios: Vec<f64> = above
        .iter()
        .filter_map(|(round, value)| Some(value / below.get(round).filter(|below| **below != 0.0)?))
        .collect();
    if ratios.is_empty() {
        return "–".to_owned();
    }
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = if ratios.len() == 1 {
        String::new()
    } else {
        format!(" ({least:.2} to {most:.2})")
    };
    format!("{:.2}x{range}", median(ratios))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

/// Three digits, which is more than they are worth.
fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 10_000.0 {
        format!("{:.1}k", value / 1000.0)
    } else if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(peer: &str, metric: &str, round: usize, value: f64) -> Sample {
        Sample {
            peer: peer.to_owned(),
            transport: "stdio",
            revision: "r",
            round,
            metric: metric.to_owned(),
            value,
        }
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let mut samples = Vec::new();
        // The machine is twice as slow in the second round and ten times in the third; the ratio is 2 in each.
        for (round, slowness) in [(0, 1.0), (1, 2.0), (2, 10.0)] {
            samples.push(sample("ours", "echo.1.cpu", round, 2.0 * slowness));
            samples.push(sample("floor", "echo.1.cpu", round, slowness));
        }
        // Several values of one round count as one.
        for value in [1.0, 2.0, 90.0] {
            samples.push(sample("ours", "cold", 0, value));
        }
        let table = servers(&samples);
        let expected = "\
### stdio, r

| | ours | floor | ours to floor |
|---|---|---|---|
| echo, 1 in flight: CPU, µs | 4.00 ±400% | 2.00 ±400% | 2.00x (2.00 to 2.00) |
| cold start, ms | 2.00 | – | – |

";
        assert_eq!(table, expected);
    }

    #[test]
    fn growth_is_told_against_the_smallest_size() {
        let samples = [
            sample("ours", "tools.1.cpu", 0, 2.0),
            sample("ours", "tools.10.cpu", 0, 3.0),
            sample("ours", "message.8.cpu", 0, 12_345.0),
        ];
        let table = growth(&samples);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| a call, tools of the server | stdio, r | 1 | 2.00 µs |  |",
                "| a call, tools of the server | stdio, r | 10 | 3.00 µs | 1.50x |",
                "| echo of a message in pieces of 4 KiB, MiB | stdio, r | 8 | 12.3k ms |  |",
            ]
        );
    }

    #[test]
    fn medians_of_even_and_odd_counts() {
        for (values, expected) in [
            (vec![3.0, 1.0, 2.0], "2.00"),
            (vec![4.0, 1.0, 2.0, 3.0], "2.50"),
            (vec![7.0], "7.00"),
        ] {
            assert_eq!(number(median(values)), expected);
        }
        assert_eq!(number(123.4), "123");
        assert_eq!(number(12.34), "12.3");
    }
}
