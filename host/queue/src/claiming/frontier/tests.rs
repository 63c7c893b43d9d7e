use super::*;

fn lane(scope: &str, kind: &str, priority: i32) -> Lane {
    Lane { scope: (!scope.is_empty()).then(|| scope.to_owned()), kind: kind.to_owned(), priority }
}

fn place(run_at: i64) -> Place {
    Place { run_at, id: run_at }
}

fn frontier(now: i64, lanes: &[(Lane, i64)]) -> Frontier<()> {
    let lanes = lanes.iter().map(|(lane, run_at)| (lane.clone(), place(*run_at))).collect();
    let kinds = vec!["a".to_owned(), "b".to_owned()];
    Frontier::new(Survey { mark: (), now, lanes }, kinds, None, Instant::now())
}

fn first(frontier: &Frontier<()>, kinds: &[&str], probed: &[Lane], n: usize) -> Vec<(String, i64)> {
    let probed = probed.iter().cloned().collect();
    let lanes = frontier.first(kinds, &probed, n);
    lanes.into_iter().map(|(lane, (_, place))| (lane.scope.unwrap_or_default() + &lane.kind, place.run_at)).collect()
}

#[test]
fn lanes_come_in_the_order_of_claims() {
    let lanes = [(lane("", "a", 0), 5), (lane("s", "b", 0), 4), (lane("t", "a", 0), 6), (lane("", "b", 7), 9)];
    let frontier = frontier(10, &lanes);
    let all = [("b".to_owned(), 9), ("sb".to_owned(), 4), ("a".to_owned(), 5), ("ta".to_owned(), 6)];
    assert_eq!(first(&frontier, &["a", "b"], &[], 9), all);
    assert_eq!(first(&frontier, &["a", "b"], &[], 2), all[..2]);
    assert_eq!(first(&frontier, &["a"], &[], 9), all[2..]);
    assert_eq!(
        first(&frontier, &["a", "b"], &[lane("", "b", 7), lane("", "a", 0)], 9),
        [all[1].clone(), all[3].clone()]
    );
    assert_eq!(first(&frontier, &["unknown"], &[], 9), []);
}

#[test]
fn a_lane_whose_first_item_is_not_due_is_left_out() {
    let frontier = frontier(5, &[(lane("", "a", 9), 6), (lane("s", "a", 9), 7), (lane("", "a", 0), 5)]);
    assert_eq!(first(&frontier, &["a"], &[], 9), [("a".to_owned(), 5)]);
}

#[test]
fn only_what_comes_before_a_place_lowers_it() {
    let mut frontier = frontier(9, &[(lane("", "a", 0), 5)]);
    assert!(!frontier.lower(&lane("", "a", 0), place(5)));
    assert!(!frontier.lower(&lane("", "a", 0), Place { run_at: 5, id: 6 }));
    assert!(frontier.lower(&lane("", "a", 0), Place { run_at: 5, id: 4 }));
    assert!(frontier.lower(&lane("", "a", 0), place(3)));
    assert!(frontier.lower(&lane("", "a", 1), place(7)), "a lane of its own");
    assert_eq!(first(&frontier, &["a"], &[], 9), [("a".to_owned(), 7), ("a".to_owned(), 3)]);
}

#[test]
fn an_empty_lane_is_forgotten() {
    let mut frontier = frontier(9, &[(lane("s", "a", 0), 5), (lane("t", "a", 0), 5)]);
    frontier.begin_at(&lane("s", "a", 0), None);
    assert_eq!(first(&frontier, &["a"], &[], 9), [("ta".to_owned(), 5)]);
    assert_eq!(frontier.place(&lane("s", "a", 0)), None);
    frontier.begin_at(&lane("t", "a", 0), Some(place(8)));
    assert_eq!(first(&frontier, &["a"], &[], 9), [("ta".to_owned(), 8)]);
}

#[test]
fn it_serves_requests_about_lanes_that_it_knows() {
    let ask = |kinds: &[&str], scopes: Option<&[&str]>| ClaimRequest {
        host: "h".to_owned(),
        kinds: kinds
            .iter()
            .map(|kind| crate::KindSlots { kind: (*kind).to_owned(), slots: 1, handler_digest: "d".to_owned() })
            .collect(),
        scopes: scopes.map(|scopes| scopes.iter().map(|scope| (*scope).to_owned()).collect()),
        limit: 1,
        lease: Duration::ZERO,
        last_chances: crate::LastChances::default(),
    };
    let mut frontier = frontier(9, &[]);
    assert!(frontier.serves(&ask(&["a"], None)) && frontier.serves(&ask(&["b", "a"], None)));
    assert!(!frontier.serves(&ask(&["a", "c"], None)));
    assert!(!frontier.serves(&ask(&["a"], Some(&["s"]))));
    frontier.scopes = Some(vec!["s".to_owned()]);
    assert!(frontier.serves(&ask(&["a"], Some(&["s"]))));
    assert!(!frontier.serves(&ask(&["a"], None)));
    frontier.expires = Instant::now();
    assert!(!frontier.serves(&ask(&["a"], Some(&["s"]))), "it is too old");
}
