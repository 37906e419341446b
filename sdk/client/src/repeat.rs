//! What is sent once more over HTTP, where one request can fail and the connection goes on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use trunkline_proto::client::RequestOptions;
use trunkline_types::{Extra, HttpShape, Method, Progress, Tool, code};

use crate::CallError;
use crate::call::Exchanged;
use crate::client::Inner;
use crate::feed::FeedWriter;
use crate::ports::Outcome;

/// Whether a request asks and changes nothing, so that it may be sent again although it may have run.
fn is_safe(method: Method) -> bool {
    matches!(
        method,
        Method::Discover
            | Method::Ping
            | Method::ListTools
            | Method::ListResources
            | Method::ListResourceTemplates
            | Method::ListPrompts
            | Method::ReadResource
            | Method::GetTask
    )
}

impl Inner {
    /// Whether parameters are mirrored into headers.
    pub(crate) fn mirrors(&self) -> bool {
        self.over_http && self.agreement.profile.http == HttpShape::Stateless
    }

    /// Sends a request, and once more under a new id if its exchange broke off and it is safe to repeat.
    pub(crate) async fn deliver(
        &self,
        method: Method,
        params: &Arc<Extra>,
        options: &RequestOptions,
        progress: Option<&FeedWriter<Progress>>,
    ) -> Result<Outcome, CallError> {
        if self.over_http && is_safe(method) {
            let sent = self.send(method, params, options, progress).await;
            let broke_off =
                matches!(&sent, Err(CallError::Undelivered(why)) if why.may_have_run && why.status.is_none());
            if !broke_off {
                return sent;
            }
        }
        self.send(method, params, options, progress).await
    }

    /// Calls a tool. If its headers do not fit, its definition has changed: the tools are listed again, from which
    /// the transport learns the headers, and it is called once more. It had not run
    /// (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#client-behavior>).
    pub(crate) async fn exchange_call(
        &self,
        params: Extra,
        options: &RequestOptions,
        progress: Option<&FeedWriter<Progress>>,
    ) -> Result<Exchanged, CallError> {
        let params = Arc::new(params);
        let sent = self.exchange_rounds(Method::CallTool, &params, options, progress);
        let refused = match sent.await {
            Err(CallError::Refused(error)) if error.code == code::HEADER_MISMATCH && self.mirrors() => error,
            other => return other,
        };
        self.state.tools.fetch_add(1, Ordering::Release);
        if self.list::<Tool>().await.is_err() {
            return Err(CallError::Refused(refused));
        }
        self.exchange_rounds(Method::CallTool, &params, options, progress).await
    }
}
