//! Filters over the facts of a store.

use crate::data::{AppliedFilter, Data};
use crate::tests::script::{GATEWAY, ScriptedStore};

#[test]
fn filter_matches_states_and_summaries_alike() {
    let filters = [
        "reviews",
        "edge-gw-1",
        "CDS",
        "ledger",
        "41",
        "c3",
        "constraint",
        "nack",
        "state:miss",
        "state:nack",
        "name:cart",
        "name:/^search/",
        "version:42",
        "nonce:e1",
        "err:malformed",
        "type:eds",
        "!type:cds",
        "lat>1ms",
        "lat<1h",
        "size>1",
        "count>2",
        "count<4",
        "age>5s",
        "#30..#40",
        "after:#20",
        "stream:2",
        "nothing",
    ];
    let filters: Vec<AppliedFilter> = filters
        .into_iter()
        .filter_map(|text| {
            let filter = xdscope_engine::filter::Filter::parse(text).ok()?;
            Some(AppliedFilter { text: text.to_owned(), filter })
        })
        .collect();
    assert!(filters.len() > 20);
    let (mut source, frames) = ScriptedStore::before_first_frame(GATEWAY);
    let (mut matched, mut looked) = (0, 0);
    for frame in frames {
        source.handle(frame);
        let data = source.data();
        for cell in data.summaries() {
            let fact = data.state(cell.stream, &cell.type_url).expect("its state");
            for applied in &filters {
                let wanted = data.state_matches(applied, &fact);
                assert_eq!(data.cell_matches(applied, &cell), wanted, "{} {cell:?}", applied.text);
                (matched, looked) = (matched + usize::from(wanted), looked + 1);
            }
        }
    }
    assert!(matched > 0 && matched < looked);
}
