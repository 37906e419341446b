//! One measured value, and where it came from.

use serde::Serialize;

/// One measured value, as `--json` prints it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sample {
    pub(crate) peer: String,
    /// `stdio` or `http`.
    pub(crate) transport: &'static str,
    pub(crate) revision: &'static str,
    /// From 0. Peers are compared within a round.
    pub(crate) round: usize,
    pub(crate) metric: String,
    pub(crate) value: f64,
}

/// Takes the values of one peer in one round.
#[derive(Debug)]
pub(crate) struct Recorder<'a> {
    pub(crate) peer: &'a str,
    pub(crate) transport: &'static str,
    pub(crate) revision: &'static str,
    pub(crate) round: usize,
    pub(crate) samples: &'a mut Vec<Sample>,
}

impl Recorder<'_> {
    pub(crate) fn record(&mut self, metric: impl Into<String>, value: f64) {
        self.samples.push(Sample {
            peer: self.peer.to_owned(),
            transport: self.transport,
            revision: self.revision,
            round: self.round,
            metric: metric.into(),
            value,
        });
    }
}
