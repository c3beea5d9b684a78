//! Resources that wait for others, until their time is up.

use std::collections::VecDeque;

use crate::engine::session::SymMap;
use crate::wire::event::{Seq, Sym, Time};

/// Resources of one response that wait for others before they can be used (rows H-01 to H-06). For what each waits is
/// in the graph: this is kept on every stream.
#[derive(Clone, Debug)]
pub(super) struct Warming {
    pub(super) since: Time,
    pub(super) seq: Seq,
    /// They were there before, with other content.
    pub(super) update: bool,
    pub(super) names: Vec<Sym>,
}

/// Those of one stream and type, oldest first. A message costs by what it carries, however many wait: sessions of
/// small updates have thousands within the timer.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    queue: VecDeque<Warming>,
    /// In how many of them a name is.
    times: SymMap<u32>,
    /// Names in all of them.
    names: usize,
}

impl Waiting {
    pub(super) fn names(&self) -> usize {
        self.names
    }

    pub(super) fn push(&mut self, warming: Warming) {
        self.names += warming.names.len();
        for name in &warming.names {
            *self.times.entry(*name).or_default() += 1;
        }
        self.queue.push_back(warming);
    }

    /// Since when the oldest of them wait.
    pub(super) fn since(&self) -> Option<Time> {
        self.queue.front().map(|warming| warming.since)
    }

    /// Takes out the oldest, less the names that came again since: those wait from then on.
    pub(super) fn pop(&mut self) -> Option<Warming> {
        let mut oldest = self.queue.pop_front()?;
        self.names -= oldest.names.len();
        oldest.names.retain(|name| match self.times.get_mut(name) {
            Some(times) if *times > 1 => {
                *times -= 1;
                false
            }
            _ => {
                self.times.remove(name);
                true
            }
        });
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_waits_from_when_it_came_last() {
        let mut waiting = Waiting::default();
        for (at, names) in [(1, &[1, 2][..]), (2, &[2, 3]), (3, &[2])] {
            let names = names.iter().copied().map(Sym).collect();
            waiting.push(Warming { since: Time(at), seq: Seq(at), update: false, names });
        }
        assert_eq!((waiting.names(), waiting.since()), (5, Some(Time(1))));
        let mut pop = || waiting.pop().map(|warming| (warming.since.0, warming.names));
        assert_eq!(pop(), Some((1, vec![Sym(1)])));
        assert_eq!(pop(), Some((2, vec![Sym(3)])));
        assert_eq!(pop(), Some((3, vec![Sym(2)])));
        assert_eq!(pop(), None);
        assert!(waiting.names() == 0 && waiting.times.is_empty());
    }
}
