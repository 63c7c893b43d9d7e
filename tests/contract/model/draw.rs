//! Drawing sequences at random.

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::Index;
use workhost_queue::Pausable;

use super::steps::{Act, Aged, End, HOSTS, KEYS, KINDS, Look, PEOPLE, Pick, SCOPES, Schedule, Spec, Step};

pub(super) fn sequences() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..100)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![16 => by_hosts(), 9 => aged(), 6 => by_people(), 4 => by_readers()]
}

fn host() -> std::ops::Range<usize> {
    0..HOSTS
}

/// Some kinds more often than others, so that items meet.
fn kind() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(0_usize), 2 => Just(1), 1 => Just(2)]
}

fn by_hosts() -> impl Strategy<Value = Step> {
    let note = || weighted(0.3, 0..3_u8);
    prop_oneof![
        10 => (host(), vec(spec(), 0..4)).prop_map(|(host, items)| Step::Enqueue { host, items }),
        4 => (host(), vec(schedule(), 0..3)).prop_map(|(host, schedules)| Step::EnqueueDue { host, schedules }),
        13 => (host(), [0..3_u32, 0..3, 0..3], weighted(0.3, any::<[bool; 2]>()), 0..5_u32)
            .prop_map(|(host, slots, scopes, limit)| Step::Claim { host, slots, scopes, limit }),
        6 => (host(), vec((pick(), note()), 0..4)).prop_map(|(host, beats)| Step::Heartbeat { host, beats }),
        12 => (host(), vec((pick(), end(), note()), 0..4)).prop_map(|(host, ends)| Step::Finish { host, ends }),
        8 => (host(), 1..4_u32, 0..4_u32)
            .prop_map(|(host, max_stalls, limit)| Step::Recover { host, max_stalls, limit }),
        4 => (host(), weighted(0.5, pick()), 0..4_u32)
            .prop_map(|(host, fence, limit)| Step::DeleteFinished { host, fence, limit }),
        2 => (host(), 0..=KINDS.len(), 0..3_u32).prop_map(|(host, kinds, slots)| Step::Seen { host, kinds, slots }),
        2 => host().prop_map(|host| Step::Restart { host }),
    ]
}

fn by_people() -> impl Strategy<Value = Step> {
    let act = prop_oneof![
        8 => (any::<Index>(), any::<bool>()).prop_map(|(item, running)| Act::Cancel { item, running }),
        3 => pausable().prop_map(Act::Pause),
        4 => any::<Index>().prop_map(Act::Resume),
        2 => (0..2_usize, 0..3_usize, 0..4_u8).prop_map(|(name, role, secret)| Act::AddToken { name, role, secret }),
        1 => any::<Index>().prop_map(Act::RevokeToken),
        1 => (0..4_u8).prop_map(|secret| Act::ShowToken { secret }),
        1 => Just(Act::Reload),
    ];
    (host(), weighted(0.5, 0..PEOPLE.len()), act).prop_map(|(host, by, act)| Step::Person { host, by, act })
}

fn by_readers() -> impl Strategy<Value = Step> {
    let follow = (host(), 1..5_u32, prop::bool::weighted(0.1));
    prop_oneof![
        3 => follow.prop_map(|(host, limit, anew)| Step::Follow { host, limit, anew }),
        1 => (host(), look()).prop_map(|(host, look)| Step::Look { host, look }),
    ]
}

fn aged() -> impl Strategy<Value = Step> {
    let what = prop_oneof![
        8 => Just(Aged::Lease),
        4 => Just(Aged::RunAt),
        6 => Just(Aged::FinishedAt),
        1 => Just(Aged::HostSeen),
        1 => Just(Aged::Deed),
        1 => Just(Aged::TokenUse),
    ];
    (what, any::<Index>()).prop_map(|(what, which)| Step::Age(what, which))
}

fn spec() -> impl Strategy<Value = Spec> {
    (kind(), weighted(0.6, 0..KEYS.len()), weighted(0.6, 0..SCOPES.len()), -1..2, prop::bool::weighted(0.2))
        .prop_map(|(kind, key, scope, priority, delayed)| Spec { kind, key, scope, priority, delayed })
}

fn schedule() -> impl Strategy<Value = Schedule> {
    (kind(), weighted(0.4, 0..SCOPES.len())).prop_map(|(kind, scope)| Schedule { kind, scope })
}

fn pausable() -> impl Strategy<Value = Pausable> {
    prop_oneof![
        kind().prop_map(|kind| Pausable::Kind { kind: KINDS[kind].to_owned() }),
        (0..SCOPES.len()).prop_map(|scope| Pausable::Scope { scope: SCOPES[scope].to_owned() }),
        schedule().prop_map(|Schedule { kind, scope }| Pausable::Schedule {
            kind: KINDS[kind].to_owned(),
            scope: scope.map(|scope| SCOPES[scope].to_owned()),
        }),
    ]
}

fn look() -> impl Strategy<Value = Look> {
    let item = || weighted(0.3, any::<Index>());
    let filter = (any::<[bool; 5]>(), weighted(0.3, kind()), weighted(0.3, 0..SCOPES.len()));
    (filter, item(), item(), 0..5_u32).prop_map(|((statuses, kind, scope), item, before, limit)| Look {
        statuses,
        kind,
        scope,
        item,
        before,
        limit,
    })
}

fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![
        6 => any::<Index>().prop_map(Pick::Holder),
        3 => any::<Index>().prop_map(Pick::Ever),
        1 => any::<Index>().prop_map(Pick::ToCome),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Succeeded),
        Just(End::Failed),
        Just(End::Cancelled),
        Just(End::Released),
        Just(End::RetryNow),
        Just(End::RetryLater),
    ]
}
