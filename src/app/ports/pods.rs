//! Ports of many pods as one source: they are read side by side, and their dumps are one file.
//!
//! A pod that cannot be read does not keep the others from being shown. Pods come and go.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use serde_json::json;
use tokio::task::JoinSet;

use super::{PortError, PortGroup};
use crate::net::admin::AdminError;
use crate::net::kubectl::MAX_FORWARDS;
use xdscope_schema::read_json;
use xdscope_wire::text::plural;

/// Pods that are read at once. The answer of each may have a tenth of the memory.
const MAX_READ_AT_ONCE: usize = 8;

/// Interval at which pods are looked for.
const FIND_INTERVAL: Duration = Duration::from_secs(30);

/// The shortest time between two looks for pods, after one could not be read.
const FIND_AGAIN: Duration = Duration::from_secs(5);

/// Finds the pods of a source. Its argument tells whether the search is not wanted any more.
pub type FindPods = Box<dyn FnMut(&dyn Fn() -> bool) -> Result<Vec<PortGroup>, String> + Send>;

/// The ports of many pods.
pub struct PodPorts {
    groups: Vec<PortGroup>,
    /// The last dump of each pod, or the reason why there is none.
    last: BTreeMap<String, Result<Vec<u8>, String>>,
    find: FindPods,
    found_at: Instant,
    /// Most bytes of all dumps.
    limit: u64,
    has_changed: bool,
}

impl PodPorts {
    /// Creates a source of these pods. Those that `find` finds later are added.
    pub fn new(groups: Vec<PortGroup>, find: FindPods, limit: u64) -> PodPorts {
        let found_at = Instant::now();
        PodPorts { groups, last: BTreeMap::new(), find, found_at, limit, has_changed: false }
    }

    /// Looks for pods if it is time. Pods that were known before keep their forwards.
    pub(super) fn look(&mut self, is_over: &dyn Fn() -> bool) {
        let is_whole = self.last.values().all(Result::is_ok);
        let interval = if is_whole { FIND_INTERVAL } else { FIND_AGAIN };
        if self.found_at.elapsed() < interval {
            return;
        }
        let found = (self.find)(is_over);
        self.found_at = Instant::now();
        match found {
            Ok(found) => {
                let mut known = std::mem::take(&mut self.groups);
                for new in found {
                    let old = known.iter().position(|old| old.name == new.name);
                    self.groups.push(old.map_or(new, |old| known.swap_remove(old)));
                }
                self.has_changed |= !known.is_empty();
                known.iter().for_each(|gone| drop(self.last.remove(&gone.name)));
            }
            Err(why) => tracing::warn!("cannot look for pods: {why}"),
        }
    }

    /// Reads all pods. Returns their dumps as one if any has changed.
    ///
    /// # Errors
    /// No pod can be read, or the dumps are too large together.
    pub(super) async fn round(&mut self) -> Result<Option<Vec<u8>>, PortError> {
        let is_kept = self.groups.len() <= MAX_FORWARDS;
        let mut waiting: VecDeque<PortGroup> = std::mem::take(&mut self.groups).into();
        let mut reading = JoinSet::new();
        let mut failed = None;
        loop {
            while reading.len() < MAX_READ_AT_ONCE
                && let Some(mut group) = waiting.pop_front()
            {
                reading.spawn(async move {
                    let dump = group.round().await;
                    if !is_kept {
                        group.pause();
                    }
                    (group, dump)
                });
            }
            let Some(read) = reading.join_next().await else { break };
            let Ok((mut group, dump)) = read else { continue };
            if let Err(error) = self.take(&mut group, dump) {
                failed.get_or_insert(error);
            }
            self.groups.push(group);
        }
        self.groups.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(error) = failed
            && !self.last.values().any(Result::is_ok)
        {
            return Err(error);
        }
        let bytes: u64 = self.last.values().flatten().map(|dump| dump.len() as u64).sum();
        if bytes > self.limit {
            let path = format!("the dumps of {}", plural(self.groups.len() as u64, "pod"));
            return Err(AdminError::TooLong { path, limit: self.limit }.into());
        }
        Ok(std::mem::take(&mut self.has_changed).then(|| self.joined()))
    }

    /// Keeps the dump of a pod.
    fn take(
        &mut self,
        group: &mut PortGroup,
        dump: Result<Option<Vec<u8>>, PortError>,
    ) -> Result<(), PortError> {
        // A dump that is not JSON could end the dumps of others.
        let checked = dump.and_then(|dump| match dump {
            Some(dump) => match read_json::<IgnoredAny>(&dump) {
                Ok(_) => Ok(Some(dump)),
                Err(error) => Err(PortError::not_json(&error)),
            },
            None => Ok(None),
        });
        match checked {
            Ok(None) => Ok(()),
            Ok(Some(dump)) => {
                self.has_changed = true;
                self.last.insert(group.name.clone(), Ok(dump));
                Ok(())
            }
            Err(error) => {
                group.reader.restart();
                let why = Err(error.to_string());
                self.has_changed |= self.last.get(&group.name) != Some(&why);
                self.last.insert(group.name.clone(), why);
                Err(error)
            }
        }
    }

    /// Returns all dumps as one.
    fn joined(&self) -> Vec<u8> {
        let mut out = b"{\"pods\":[".to_vec();
        for (index, (pod, dump)) in self.last.iter().enumerate() {
            out.extend_from_slice(if index > 0 { b",\n" } else { b"\n" });
            match dump {
                Ok(dump) => {
                    out.extend_from_slice(format!("{{\"pod\":{},\"dump\":", json!(pod)).as_bytes());
                    out.extend_from_slice(dump);
                    out.push(b'}');
                }
                Err(why) => out.extend_from_slice(json!({ "pod": pod, "error": why }).to_string().as_bytes()),
            }
        }
        out.extend_from_slice(b"\n]}\n");
        out
    }

    /// Returns which pods cannot be read, if any.
    pub(super) fn trouble(&self) -> Option<String> {
        let failed: Vec<(&String, &String)> =
            self.last.iter().filter_map(|(pod, dump)| Some((pod, dump.as_ref().err()?))).collect();
        let (pod, why) = failed.first()?;
        match failed.len() {
            1 => Some(format!("pod {pod}: {why}")),
            count => Some(format!(
                "{count} of {} cannot be read; pod {pod}: {why}",
                plural(self.last.len() as u64, "pod")
            )),
        }
    }
}
