//! The beginning of a run: what each process finds in its work directory, and what follows for all of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::ClusterError;
use crate::external::MemberId;

/// What a process finds when it starts. All processes know what the others have found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Beginning {
    /// The parts of layers in the work directory.
    pub parts: Vec<FoundPart>,
    /// Whether the process discards them.
    pub fresh: bool,
    /// The identifier of the build whose part of the table this process has completed.
    pub finished: Option<String>,
    /// The partitions of a new build: the number of fixed pieces, and the words per segment.
    pub partitions: (usize, usize),
    /// The identifier of a new build.
    pub new_id: String,
}

/// The layers of one process.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct FoundPart {
    /// The identifier of the build.
    pub id: String,
    /// The process to which the layers belong, which may be one of another number of processes.
    pub member: MemberId,
    /// Whether another process keeps the layers.
    pub is_copy: bool,
    /// The partitions of the build.
    pub partitions: (usize, usize),
    /// The number of layers.
    pub layers: u32,
    /// The number of layers that are recorded as committed.
    pub committed: u32,
}

/// How the processes begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Decision {
    /// The identifier of the build.
    pub id: String,
    /// The partitions of the build.
    pub partitions: (usize, usize),
    pub work: EarlierWork,
}

/// The layers that exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum EarlierWork {
    /// None.
    None,
    /// Those of the same number of processes. The processes of these sources have lost theirs.
    Same { lost: Vec<Source> },
    /// Those of another number of processes, one source for each of them.
    Moved { processes: usize, sources: Vec<Source> },
}

/// A process that can read the layers of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Source {
    /// The process to which the layers belong.
    pub owner: usize,
    /// The process that sends them.
    pub sender: usize,
}

/// Parts of committed layers that no process can read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LostParts {
    /// The number of processes of the build.
    pub processes: usize,
    /// The processes whose parts are missing.
    pub owners: Vec<usize>,
    pub partitions: (usize, usize),
}

/// The reason why processes cannot begin.
#[derive(Debug)]
pub(super) enum CannotBegin {
    Lost(LostParts),
    Differs(ClusterError),
}

/// The parts of one build with one number of processes.
struct Layers<'a> {
    id: &'a str,
    processes: usize,
    partitions: (usize, usize),
    /// The number of committed layers.
    committed: u32,
    /// For each process, the processes that can read all of its committed layers.
    readers: Vec<Vec<usize>>,
}

impl<'a> Layers<'a> {
    /// Returns the layers of all builds and numbers of processes that were found.
    fn all(beginnings: &'a [Beginning]) -> Vec<Layers<'a>> {
        let mut found: BTreeMap<(&str, usize), Vec<(usize, &FoundPart)>> = BTreeMap::new();
        for (process, beginning) in beginnings.iter().enumerate().filter(|(_, beginning)| !beginning.fresh) {
            for part in &beginning.parts {
                found.entry((&part.id, part.member.processes)).or_default().push((process, part));
            }
        }
        found.into_iter().map(|((id, processes), parts)| Layers::of(id, processes, &parts)).collect()
    }

    fn of(id: &'a str, processes: usize, parts: &[(usize, &FoundPart)]) -> Layers<'a> {
        // A process begins a layer when the previous one is committed.
        let committed = parts.iter().map(|(_, part)| part.committed.max(part.layers.saturating_sub(1)));
        let committed = committed.max().unwrap_or(0);
        let mut readers = vec![Vec::new(); processes];
        for (process, part) in parts {
            if part.layers >= committed {
                readers[part.member.process].push(*process);
            }
        }
        Layers { id, processes, partitions: parts[0].1.partitions, committed, readers }
    }

    fn lost(&self) -> impl Iterator<Item = usize> {
        (0..self.processes).filter(|&owner| self.readers[owner].is_empty())
    }

    /// Returns the process that sends the layers of a process. Several readers share the work.
    fn source(&self, owner: usize) -> Source {
        let readers = &self.readers[owner];
        Source { owner, sender: readers[owner % readers.len()] }
    }

    /// Returns how a cluster of `processes` processes begins with these layers.
    fn work(&self, processes: usize) -> EarlierWork {
        if self.processes != processes {
            let sources = (0..self.processes).map(|owner| self.source(owner)).collect();
            return EarlierWork::Moved { processes: self.processes, sources };
        }
        let lost = (0..processes).filter(|owner| !self.readers[*owner].contains(owner));
        EarlierWork::Same { lost: lost.map(|owner| self.source(owner)).collect() }
    }
}

/// Returns how the processes begin, which follows from what they have found. The layers of the most distances win.
pub(super) fn decide(beginnings: &[Beginning], me: usize) -> Result<Decision, CannotBegin> {
    let processes = beginnings.len();
    if let Some(decision) = finished(beginnings) {
        return Ok(decision);
    }
    let all = Layers::all(beginnings);
    let order = |layers: &&Layers| (layers.committed, layers.lost().next().is_none(), layers.processes == processes);
    match all.iter().max_by_key(order).filter(|layers| layers.committed > 0) {
        None => new_build(beginnings, me),
        Some(layers) if layers.lost().next().is_some() => Err(CannotBegin::Lost(LostParts {
            processes: layers.processes,
            owners: layers.lost().collect(),
            partitions: layers.partitions,
        })),
        Some(layers) => {
            Ok(Decision { id: layers.id.to_owned(), partitions: layers.partitions, work: layers.work(processes) })
        }
    }
}

/// Returns the decision if every process has completed its part of the same table. Their layers may be removed already.
fn finished(beginnings: &[Beginning]) -> Option<Decision> {
    let id = beginnings[0].finished.as_ref()?;
    let part = |(process, beginning): (usize, &Beginning)| {
        let own = MemberId { process, processes: beginnings.len() };
        let part = beginning.parts.iter().find(|part| part.member == own && part.id == *id);
        part.filter(|_| beginning.finished.as_ref() == Some(id)).map(|part| part.partitions)
    };
    let partitions = beginnings.iter().enumerate().map(part).collect::<Option<Vec<_>>>()?;
    Some(Decision { id: id.clone(), partitions: partitions[0], work: EarlierWork::Same { lost: Vec::new() } })
}

fn new_build(beginnings: &[Beginning], me: usize) -> Result<Decision, CannotBegin> {
    let text = |(fixed, words): (usize, usize)| format!("{fixed} {words}");
    let ours = beginnings[me].partitions;
    if let Some((process, other)) = beginnings.iter().enumerate().find(|(_, other)| other.partitions != ours) {
        let (what, theirs) = ("the partitions (see --memory)".to_owned(), text(other.partitions));
        return Err(CannotBegin::Differs(ClusterError::Differs { process, what, theirs, ours: text(ours) }));
    }
    Ok(Decision { id: beginnings[0].new_id.clone(), partitions: ours, work: EarlierWork::None })
}

/// Returns the processes of other clusters whose files process `me` removes when this cluster has all layers: those of
/// the same build, or all of them before a new build. Only one process removes each of them.
pub(super) fn obsolete(beginnings: &[Beginning], decision: &Decision, me: usize) -> Vec<MemberId> {
    let is_obsolete = |part: &&FoundPart| {
        let is_other = part.member.processes != beginnings.len() && !part.is_copy;
        is_other && (decision.work == EarlierWork::None || part.id == decision.id)
    };
    let others: Vec<MemberId> =
        beginnings[..me].iter().flat_map(|other| &other.parts).filter(is_obsolete).map(|part| part.member).collect();
    let own = beginnings[me].parts.iter().filter(is_obsolete).map(|part| part.member);
    own.filter(|member| !others.contains(member)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a process finds: parts with their build, process, number of processes, layers and committed ones.
    fn found(parts: &[(&str, usize, usize, u32, u32)]) -> Beginning {
        let part = |&(id, process, processes, layers, committed): &(&str, usize, usize, u32, u32)| FoundPart {
            id: id.to_owned(),
            member: MemberId { process, processes },
            is_copy: false,
            partitions: (1, 64),
            layers,
            committed,
        };
        let parts = parts.iter().map(part).collect();
        Beginning { parts, fresh: false, finished: None, partitions: (2, 32), new_id: "new".to_owned() }
    }

    fn work(beginnings: &[Beginning]) -> EarlierWork {
        let decision = decide(beginnings, 0).unwrap();
        let partitions = if decision.work == EarlierWork::None { (2, 32) } else { (1, 64) };
        assert_eq!(decision.partitions, partitions);
        decision.work
    }

    fn lost(beginnings: &[Beginning]) -> (usize, Vec<usize>) {
        match decide(beginnings, 0).unwrap_err() {
            CannotBegin::Lost(lost) => (lost.processes, lost.owners),
            error @ CannotBegin::Differs(_) => panic!("{error:?}"),
        }
    }

    fn source(owner: usize, sender: usize) -> Source {
        Source { owner, sender }
    }

    #[test]
    fn builds_without_committed_layers_start_again() {
        assert_eq!(work(&[found(&[]), found(&[])]), EarlierWork::None);
        assert_eq!(work(&[found(&[("a", 0, 2, 1, 0)]), found(&[("a", 1, 2, 0, 0)])]), EarlierWork::None);
        let fresh = |process| Beginning { fresh: true, ..found(&[("a", process, 2, 5, 4)]) };
        assert_eq!(work(&[fresh(0), fresh(1)]), EarlierWork::None);
        assert_eq!(lost(&[fresh(0), found(&[("a", 1, 2, 5, 0)])]), (2, vec![0]));
        let other = Beginning { partitions: (2, 64), ..found(&[]) };
        assert!(matches!(decide(&[found(&[]), other], 0), Err(CannotBegin::Differs(_))));
    }

    #[test]
    fn builds_of_the_same_processes_resume() {
        let same = |lost: &[Source]| EarlierWork::Same { lost: lost.to_vec() };
        assert_eq!(work(&[found(&[("a", 0, 2, 5, 4)]), found(&[("a", 1, 2, 4, 0)])]), same(&[]));
        // The second copy of process 1 is at process 0. A part that is not whole counts as lost.
        let copies = [found(&[("a", 0, 2, 5, 4), ("a", 1, 2, 4, 4)]), found(&[("a", 1, 2, 3, 0)])];
        assert_eq!(work(&copies), same(&[source(1, 0)]));
        assert_eq!(lost(&[found(&[("a", 0, 2, 5, 4)]), found(&[("a", 1, 2, 3, 0)])]), (2, vec![1]));
        // Process 0 has recorded which layers are committed, but process 1 had begun layer 4.
        assert_eq!(lost(&[found(&[]), found(&[("a", 1, 2, 5, 0)])]), (2, vec![0]));
        // Layers of another build with fewer distances are not used.
        let two = [found(&[("b", 0, 2, 3, 3), ("a", 0, 2, 5, 4)]), found(&[("b", 1, 2, 3, 0), ("a", 1, 2, 5, 0)])];
        assert_eq!(decide(&two, 0).unwrap().id, "a");
    }

    #[test]
    fn layers_of_another_number_of_processes_are_moved() {
        let three = [found(&[("a", 0, 3, 6, 5), ("a", 2, 3, 6, 5)]), found(&[("a", 1, 3, 5, 0), ("a", 0, 3, 5, 0)])];
        let sources = vec![source(0, 0), source(1, 1), source(2, 0)];
        assert_eq!(work(&three), EarlierWork::Moved { processes: 3, sources });
        let gone = [found(&[("a", 0, 3, 6, 5)]), found(&[])];
        assert_eq!(lost(&gone), (3, vec![1, 2]));
        // On a shared file system all processes can read everything.
        let shared: Vec<Beginning> = (0..4).map(|_| found(&[("a", 0, 2, 6, 5), ("a", 1, 2, 6, 0)])).collect();
        let sources = vec![source(0, 0), source(1, 1)];
        assert_eq!(work(&shared), EarlierWork::Moved { processes: 2, sources });
        let decision = decide(&shared, 0).unwrap();
        let both = [0, 1].map(|process| MemberId { process, processes: 2 });
        assert_eq!([0, 1, 2].map(|me| obsolete(&shared, &decision, me)), [both.to_vec(), vec![], vec![]]);
        let mut copies = shared.clone();
        copies[0].parts[1].is_copy = true;
        assert_eq!([0, 1, 2].map(|me| obsolete(&copies, &decision, me)), [vec![both[0]], vec![both[1]], vec![]]);
        // When as many layers have been moved, the old ones are no longer used.
        let moved = |process| found(&[("a", 0, 2, 6, 5), ("a", 1, 2, 6, 0), ("a", process, 3, 5, 5)]);
        assert_eq!(work(&[0, 1, 2].map(moved)), EarlierWork::Same { lost: Vec::new() });
        let partly = |process| found(&[("a", 0, 2, 6, 5), ("a", 1, 2, 6, 0), ("a", process, 3, 4, 4)]);
        assert!(matches!(work(&[0, 1, 2].map(partly)), EarlierWork::Moved { processes: 2, .. }));
    }

    #[test]
    fn finished_parts_need_no_layers() {
        let finished = |layers, process| Beginning {
            finished: Some("a".to_owned()),
            ..found(&[("a", process, 2, layers, layers)])
        };
        let decision = decide(&[finished(0, 0), finished(5, 1)], 0).unwrap();
        assert_eq!((&*decision.id, decision.work), ("a", EarlierWork::Same { lost: Vec::new() }));
        let other = Beginning { finished: None, ..finished(5, 1) };
        assert_eq!(lost(&[finished(0, 0), other]), (2, vec![0]));
    }
}
