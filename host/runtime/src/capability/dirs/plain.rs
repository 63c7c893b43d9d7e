//! Opening nothing that an opener waits for.
//!
//! Opening a FIFO lasts until somebody opens its other end, on a thread of the host that nothing can end: a folder with a few
//! hundred of them would hold every thread for files that there is. So a file is looked at before it is opened.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, Host as _, HostDescriptor as _, OpenFlags, PathFlags,
};

use crate::sandbox::State;

/// The version that `wasmtime-wasi` links.
const TYPES: &str = "wasi:filesystem/types@0.2.12";

type OpenAt = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);
type Opened = (Result<Resource<Descriptor>, ErrorCode>,);

/// Puts this `open-at` in the place of the linked one.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let added = linker.instance(TYPES).and_then(|mut types| {
        types.func_wrap_async("[method]descriptor.open-at", |store: StoreContextMut<'_, State>, arguments: OpenAt| {
            Box::new(open_at(store, arguments))
        })
    });
    linker.allow_shadowing(false);
    added
}

async fn open_at(
    mut store: StoreContextMut<'_, State>,
    (folder, path_flags, path, open_flags, flags): OpenAt,
) -> wasmtime::Result<Opened> {
    let mut files = store.data_mut().filesystem();
    let looked_at = files.stat_at(Resource::new_borrow(folder.rep()), path_flags, path.clone()).await;
    // What cannot be looked at may still be made, or has an error of its own.
    if looked_at.is_ok_and(|stat| !opens_at_once(stat.type_)) {
        return Ok((Err(ErrorCode::NotPermitted),));
    }
    match files.open_at(folder, path_flags, path, open_flags, flags).await {
        Ok(opened) => Ok((Ok(opened),)),
        Err(error) => Ok((Err(files.convert_error_code(error)?),)),
    }
}

fn opens_at_once(kind: DescriptorType) -> bool {
    matches!(kind, DescriptorType::RegularFile | DescriptorType::Directory | DescriptorType::SymbolicLink)
}
