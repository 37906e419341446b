//! News for whoever waits: who is slow, who speaks out of turn, how far a call is.

/// Something to show while a gate works. Texts are cleaned and on one line.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum News {
    /// A server is not ready yet; told about once a second.
    Waiting {
        /// The server.
        server: String,
        /// For how many seconds by now.
        seconds: u64,
        /// What is odd about it so far.
        oddity: Option<String>,
    },
    /// A call takes long; told about once a second.
    Running {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// For how many seconds by now.
        seconds: u64,
    },
    /// A call goes on, says its server.
    Progress {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// How far it is, in the server's own measure.
        progress: f64,
        /// Where it ends, where that is known.
        total: Option<f64>,
        /// What is being done.
        message: Option<String>,
    },
    /// A server sent something during a call that nobody asked for. It was set aside.
    Noise {
        /// The server.
        server: String,
        /// What it was.
        text: String,
    },
}

/// Hears the news. It must not block.
pub trait Watch: Send + Sync {
    /// Something happened.
    fn news(&self, news: &News);
}

/// Nobody listens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nobody;

impl Watch for Nobody {
    fn news(&self, _: &News) {}
}
