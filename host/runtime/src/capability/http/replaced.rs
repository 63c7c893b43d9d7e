//! Host functions in the place of those of `wasmtime-wasi-http`.
//!
//! Its setters keep a method, an authority and a path of nearly any length, so that a guest could make the host hold a
//! thousand of many megabytes each. And its `http-error-code` does not know why a response broke off.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, LinkerInstance, Resource};
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, HostOutgoingRequest as _, IoError, Method};
use wasmtime_wasi_http::p2::types::HostOutgoingRequest as Request;
use wasmtime_wasi_http::{Error, WasiHttpView};

use crate::sandbox::State;

/// The version that `wasmtime-wasi-http` links.
const TYPES: &str = "wasi:http/types@0.2.12";

/// Bytes of a method. The longest registered one has 17.
const METHOD_BYTES: usize = 32;

/// Bytes of an authority: a name of 253, the dot behind it, a port, and some for a user, who is refused later.
const AUTHORITY_BYTES: usize = 512;

/// Bytes of a path with its query; 8 KiB. Few servers take more.
const PATH_BYTES: usize = 8 << 10;

/// Puts these in the place of the linked ones.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let added = linker.instance(TYPES).and_then(add);
    linker.allow_shadowing(false);
    added
}

type Store<'a> = StoreContextMut<'a, State>;
/// Whether a request took a value.
type Set = wasmtime::Result<(Result<(), ()>,)>;

fn add(mut types: LinkerInstance<'_, State>) -> wasmtime::Result<()> {
    types.func_wrap(
        "[method]outgoing-request.set-method",
        |mut store: Store<'_>, (request, method): (Resource<Request>, Method)| -> Set {
            if matches!(&method, Method::Other(name) if name.len() > METHOD_BYTES) {
                return Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_method(request, method)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-authority",
        |mut store: Store<'_>, (request, authority): (Resource<Request>, Option<String>)| -> Set {
            if authority.as_ref().is_some_and(|authority| authority.len() > AUTHORITY_BYTES) {
                return Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_authority(request, authority)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-path-with-query",
        |mut store: Store<'_>, (request, path): (Resource<Request>, Option<String>)| -> Set {
            if path.as_ref().is_some_and(|path| path.len() > PATH_BYTES) {
                return Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_path_with_query(request, path)?,))
        },
    )?;
    types.func_wrap(
        "http-error-code",
        |mut store: Store<'_>, (error,): (Resource<IoError>,)| -> wasmtime::Result<(Option<ErrorCode>,)> {
            let view = store.data_mut().http();
            let error = view.table.get(&error)?;
            let code = error.downcast_ref::<Error>().map(code);
            Ok((code.or_else(|| error.downcast_ref::<ErrorCode>().cloned()),))
        },
    )
}

/// The code for what a response's body broke off with.
fn code(error: &Error) -> ErrorCode {
    match error {
        Error::HttpResponseBodySize(limit) => ErrorCode::HttpResponseBodySize(*limit),
        Error::HttpResponseTimeout => ErrorCode::HttpResponseTimeout,
        Error::HttpResponseIncomplete => ErrorCode::HttpResponseIncomplete,
        Error::HttpResponseHeaderSectionSize(limit) => ErrorCode::HttpResponseHeaderSectionSize(*limit),
        Error::ConnectionReadTimeout => ErrorCode::ConnectionReadTimeout,
        Error::ConnectionTerminated => ErrorCode::ConnectionTerminated,
        _ => ErrorCode::HttpProtocolError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_that_broke_off_says_why() {
        for (error, code) in [
            (Error::HttpResponseBodySize(Some(7)), "HttpResponseBodySize(Some(7))"),
            (Error::HttpResponseTimeout, "HttpResponseTimeout"),
            (Error::HttpResponseIncomplete, "HttpResponseIncomplete"),
            (Error::HttpResponseHeaderSectionSize(Some(7)), "HttpResponseHeaderSectionSize(Some(7))"),
            (Error::ConnectionReadTimeout, "ConnectionReadTimeout"),
            (Error::ConnectionTerminated, "ConnectionTerminated"),
            (Error::HttpRequestDenied, "HttpProtocolError"),
        ] {
            let told = format!("{:?}", super::code(&error));
            assert!(told.ends_with(code), "{told}");
        }
    }
}
