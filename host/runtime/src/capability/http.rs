//! `http`: requests to the origins that a handler was granted, by `wasi:http/outgoing-handler`.
//!
//! One choke point sends them all ([`send`]). An origin is checked in one spelling; the addresses of its name are
//! checked for each new connection, which goes to one of those that were checked.

mod address;
mod allow;
mod body;
mod client;
mod connect;
mod failure;
mod origin;
mod replaced;
mod resolve;
mod send;
mod tell;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use tokio::sync::Semaphore;
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::p2::bindings;
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttp, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

use super::{Caller, Capability, GrantForm};
use crate::error::LoadError;
use crate::imports::Import;
use crate::limits::Limits;
use crate::output::Output;
use crate::sandbox::State;

pub use address::Network;
pub use allow::AllowedOrigin;
pub use resolve::{Resolve, SystemResolver};
use send::Sender;

pub(crate) const CAPABILITY: Capability = Capability {
    form: GrantForm {
        key: "http",
        toml: "  [handlers.http]\n  allow = [\"https://…\"]          # each origin that it sends requests to\n",
    },
    interfaces: &["wasi:http/outgoing-handler", "wasi:http/types"],
    inert: false,
    is_granted: |grants| grants.http.is_some(),
    link: |linker, interface| match interface {
        "wasi:http/types" => {
            let options = bindings::LinkOptions::default();
            bindings::http::types::add_to_linker::<State, WasiHttp>(linker, &options.into(), State::http)?;
            replaced::add_to_linker(linker)
        }
        _ => bindings::http::outgoing_handler::add_to_linker::<State, WasiHttp>(linker, State::http),
    },
};

/// The origins that a handler may send requests to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpGrant {
    /// Each origin, or wildcard of origins. One with an address for its host is thereby allowed whatever address that is.
    pub allow: Vec<AllowedOrigin>,
    /// Networks that names may lead to although they are not public.
    pub private: Vec<Network>,
    /// A file with certificates in PEM that are trusted beside the roots of the web.
    pub ca: Option<PathBuf>,
}

/// Why an entry of the grant is none, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadEntry {
    /// What is wrong with it.
    pub problem: String,
    /// What to do about it.
    pub mend: String,
}

/// A grant that was checked, with its client; one per handler.
pub(crate) struct Granted {
    /// The handler's file, for messages.
    handler: String,
    allow: Vec<AllowedOrigin>,
    private: Vec<Network>,
    client: client::Client,
}

/// Whether the grant's file of certificates can be used.
pub(crate) fn check(grant: &HttpGrant) -> Result<(), LoadError> {
    grant.ca.as_deref().map_or(Ok(()), |ca| client::certificates(ca).map(drop))
}

/// Makes the grant ready for attempts of the handler in this file.
pub(crate) fn prepare(
    grant: HttpGrant,
    component: &Path,
    resolver: Arc<dyn Resolve>,
    limits: &Limits,
) -> Result<Arc<Granted>, LoadError> {
    let client = client::client(&grant, resolver, limits)?;
    let handler = component.display().to_string();
    Ok(Arc::new(Granted { handler, allow: grant.allow, private: grant.private, client }))
}

/// The limits of a component with these imports: one that can make requests has fewer resources, as each is larger.
pub(crate) fn narrowed(limits: &Limits, imports: &[Import]) -> Limits {
    let resources = match imports.iter().any(|import| import.name.starts_with("wasi:http/")) {
        true => limits.resources.min(limits.http_resources),
        false => limits.resources,
    };
    Limits { resources, ..limits.clone() }
}

/// The limits of requests; those of [`Limits`].
#[derive(Clone, Copy, Debug)]
struct HttpLimits {
    requests: usize,
    header_bytes: usize,
    request_bytes: u64,
    response_bytes: u64,
    chunk_bytes: usize,
    time: Duration,
    connect_time: Duration,
}

/// What the attempt's calls of `wasi:http` reach.
pub(crate) struct HttpContext {
    ctx: WasiHttpCtx,
    hooks: Hooks,
}

struct Hooks {
    chunk_bytes: usize,
    /// `None` sends nothing.
    sender: Option<Sender>,
    /// Its last strong reference goes with the sandbox.
    _sandbox: Arc<()>,
}

impl HttpContext {
    /// Sends nothing without a grant.
    pub(crate) fn new(
        granted: Option<Arc<Granted>>,
        caller: &Arc<Caller>,
        output: &Arc<Output>,
        limits: &Limits,
    ) -> Self {
        let mut ctx = WasiHttpCtx::new();
        // In memory a field takes some bytes besides its text.
        ctx.set_field_size_limit(2 * limits.http_header_bytes);
        let limits = HttpLimits {
            requests: limits.http_requests,
            header_bytes: limits.http_header_bytes,
            request_bytes: limits.http_request_bytes,
            response_bytes: limits.http_response_bytes,
            chunk_bytes: limits.http_chunk_bytes,
            time: limits.http_time,
            connect_time: limits.http_connect_time,
        };
        let sandbox = Arc::new(());
        let sender = granted.map(|granted| Sender {
            granted,
            caller: caller.clone(),
            output: Arc::downgrade(output),
            limits,
            turns: Arc::new(Semaphore::new(limits.requests)),
            sandbox: Arc::downgrade(&sandbox),
        });
        let hooks = Hooks { chunk_bytes: limits.chunk_bytes, sender, _sandbox: sandbox };
        HttpContext { ctx, hooks }
    }

    /// What host functions work on.
    pub(crate) fn view<'a>(&'a mut self, table: &'a mut ResourceTable) -> WasiHttpCtxView<'a> {
        WasiHttpCtxView { hooks: &mut self.hooks, table, ctx: &mut self.ctx }
    }
}

type Sending = Result<(http::Response<WasiBody>, Rest), Error>;
/// What would have to go on beside a response; here the client's own tasks do.
type Rest = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for Hooks {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sending> + Send> {
        let sender = self.sender.clone().map(|sender| (sender.line_up(), sender));
        Box::new(async move {
            let (turn, sender) = sender.ok_or(Error::HttpRequestDenied)?;
            let response = sender.send(request, options.unwrap_or_default(), turn).await?;
            Ok((response, Box::new(std::future::ready(Ok(()))) as Rest))
        })
    }

    fn set_host_header(&mut self) -> bool {
        // Written when it is known which host it is.
        false
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        self.chunk_bytes
    }
}
