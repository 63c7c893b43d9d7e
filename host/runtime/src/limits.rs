//! Every limit of a sandbox, in one place.

use std::time::Duration;

/// How long a statement may take; the servers of application databases are told this one.
pub(crate) const SQL_TIME: Duration = Duration::from_secs(30);

/// Every limit of a sandbox: unit, default, reason.
///
/// Guests are hostile until shown otherwise, so nothing that a guest can make the host do is without
/// a number here.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of linear memory of one attempt, all its memories together; 64 MiB. A handler's grant may
    /// set its own. Enough for a handler that streams; small enough for a host with many slots.
    pub memory_bytes: usize,
    /// Bytes that a grant may raise that to; 4 GiB, all that a 32-bit guest can address.
    pub max_memory_bytes: usize,
    /// Linear memories in one attempt; 4. A component has one, an adapter may add one.
    pub memories: u32,
    /// Tables in one attempt; 16. A component has one or two per core module.
    pub tables: u32,
    /// Table elements of one attempt, all its tables together; 200,000 of 8 bytes. Large C++ programs
    /// have some ten thousand.
    pub table_elements: usize,
    /// Core instances in one attempt; 64. Rust has about 5, Python about 25 (one per shared library).
    pub core_instances: u32,
    /// Attempts that hold a sandbox at the same time; 64. One more waits for a free one. Each costs
    /// address space, not memory.
    pub attempts: u32,
    /// Bytes of native stack for wasm code; 512 KiB. Deep recursion ends in `stack overflow`.
    pub wasm_stack_bytes: usize,
    /// Bytes of the whole stack that an attempt runs on; 2 MiB. What wasm leaves of it is for host
    /// functions, which would take the process down with them if they had too little: at least 1 MiB.
    pub attempt_stack_bytes: usize,
    /// Bytes that a guest can pass to the host in one call, or answer; 16 MiB. Checked before the host
    /// copies anything, so it bounds what a guest makes the host allocate.
    pub hostcall_bytes: usize,
    /// Host resources (open files, streams, pollables) that an attempt holds at a time; 10,000. More
    /// than a walk over a deep folder needs.
    pub resources: usize,
    /// Component-model handles of one attempt; 20,000: each host resource has one, and guests have
    /// resources of their own.
    pub component_handles: usize,
    /// Bytes of randomness per call; 1 MiB. Keys need 32; made on the host's time.
    pub random_bytes: u64,
    /// Bytes of a component file; 128 MiB. A Python handler has 20 MB.
    pub component_bytes: u64,
    /// Bytes of one line on stdout, stderr or of the log; 8 KiB. The rest of a longer line is cut off.
    pub line_bytes: usize,
    /// Bytes of one write on stdout or stderr; 16 KiB. Languages write 4 KiB at a time. Of the shortest lines, the host
    /// is busy with this many for some milliseconds, in which the guest cannot be ended.
    pub write_bytes: usize,
    /// Lines that an attempt can log per second; 200. A person cannot read more. Dropped ones are counted.
    pub lines_per_second: u32,
    /// Bytes of stderr that are kept for the text of a panic; 8 KiB.
    pub stderr_tail_bytes: usize,
    /// Bytes of the end of its log that are kept with an attempt; 15 KiB, within what the queue's store takes. Also
    /// lines that were dropped by the rate.
    pub log_tail_bytes: usize,
    /// Bytes of a failure's text; 15 KiB, within what the queue's store takes. People read it; the rest is cut off, and
    /// how much that was is told.
    pub error_bytes: usize,
    /// Bytes of a result; 1 MiB. It is kept in the queue's store. A larger one fails the attempt.
    pub result_bytes: usize,
    /// Bytes of a progress snapshot; 64 KiB. It travels with each heartbeat. A larger one fails the attempt.
    pub progress_bytes: usize,
    /// Rows that a query may answer; 10,000. A handler that needs more asks in pages.
    pub sql_rows: usize,
    /// Bytes of a query's values together; 4 MiB.
    pub sql_bytes: usize,
    /// How long a statement may take, the wait for a connection included; 30 s. Handlers work in
    /// bounded batches; a longer statement blocks the application.
    pub sql_time: Duration,
    /// Items that a handler enqueues in one call; 1,000. One transaction that stays short; more go into another call.
    pub queue_items: usize,
    /// HTTP requests of one attempt at a time; 16. More of them wait, within their own time. A request counts until its
    /// response was read or dropped. Servers think of more from one client as an attack.
    pub http_requests: usize,
    /// Bytes of the head of a request, and of a response, names and values together; 16 KiB. Most servers take 8 KiB, and
    /// few send as much.
    pub http_header_bytes: usize,
    /// Bytes of a request's body; 64 MiB. They pass through the host and stay nowhere in it.
    pub http_request_bytes: u64,
    /// Bytes of a response's body; 64 MiB. As above.
    pub http_response_bytes: u64,
    /// Bytes of a request's body in one write; 16 KiB. Of each request that was made, the host may hold two of them.
    pub http_chunk_bytes: usize,
    /// How long a request may take, from its start to the last byte of the response; 60 s. A response that never ends would
    /// hold a connection for as long as the attempt runs.
    pub http_time: Duration,
    /// How long connecting may take, over all addresses of a name; 10 s.
    pub http_connect_time: Duration,
    /// Connections of one handler at a time, idle ones included; 256. One more waits until another was closed. A process
    /// often may open no more than 1,024 files.
    pub http_connections: usize,
    /// Connections per origin that a handler keeps open though no request uses them; 4.
    pub http_idle_connections: usize,
    /// How long it keeps them; 30 s. Then the name is looked up again, and many servers have closed them anyway.
    pub http_idle_time: Duration,
    /// Host resources that an attempt with a grant of `http` holds at a time; 2,000, instead of the number above: the
    /// headers or the URL of each may have some 32 KiB, which the host holds beside the guest's own memory.
    pub http_resources: usize,
    /// How long `describe` may take; 5 s. It answers constants.
    pub describe_time: Duration,
    /// Kinds that one handler may describe; 100.
    pub kinds: usize,
    /// Time between two epochs; 10 ms. A spinning guest gives way to others once per epoch, and runs at
    /// most one more after it was ended.
    pub epoch_tick: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory_bytes: 64 << 20,
            max_memory_bytes: 4 << 30,
            memories: 4,
            tables: 16,
            table_elements: 200_000,
            core_instances: 64,
            attempts: 64,
            wasm_stack_bytes: 512 << 10,
            attempt_stack_bytes: 2 << 20,
            hostcall_bytes: 16 << 20,
            resources: 10_000,
            component_handles: 20_000,
            random_bytes: 1 << 20,
            component_bytes: 128 << 20,
            line_bytes: 8 << 10,
            write_bytes: 16 << 10,
            lines_per_second: 200,
            stderr_tail_bytes: 8 << 10,
            log_tail_bytes: 15 << 10,
            error_bytes: 15 << 10,
            result_bytes: 1 << 20,
            progress_bytes: 64 << 10,
            sql_rows: 10_000,
            sql_bytes: 4 << 20,
            sql_time: SQL_TIME,
            queue_items: 1000,
            http_requests: 16,
            http_header_bytes: 16 << 10,
            http_request_bytes: 64 << 20,
            http_response_bytes: 64 << 20,
            http_chunk_bytes: 16 << 10,
            http_time: Duration::from_secs(60),
            http_connect_time: Duration::from_secs(10),
            http_connections: 256,
            http_idle_connections: 4,
            http_idle_time: Duration::from_secs(30),
            http_resources: 2_000,
            describe_time: Duration::from_secs(5),
            kinds: 100,
            epoch_tick: Duration::from_millis(10),
        }
    }
}
