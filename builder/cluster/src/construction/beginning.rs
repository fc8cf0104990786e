//! The beginning of a run: what each process finds in its work directory, and what follows for all of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sternhalma_builder::steps::MemberId;

use crate::error::ClusterError;

/// What a process finds when it starts. All processes know what the others have found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Beginning {
    /// The parts of layers in the work directory.
    pub parts: Vec<FoundPart>,
    /// Whether all processes discard them.
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
    /// The process that has written the files: the same one, or the one that keeps second copies.
    pub home: usize,
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
    /// The number of committed layers.
    pub committed: u32,
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
    /// The process in whose directory they are.
    pub home: usize,
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
    /// The parts that have all committed layers, with the processes that can read them.
    whole: Vec<(usize, &'a FoundPart)>,
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
        found.into_iter().map(|((id, processes), parts)| Layers::of(id, processes, parts)).collect()
    }

    fn of(id: &'a str, processes: usize, mut parts: Vec<(usize, &'a FoundPart)>) -> Layers<'a> {
        let partitions = parts[0].1.partitions;
        let committed = parts.iter().map(|(_, part)| part.known_committed()).max().unwrap_or(0);
        parts.retain(|(_, part)| part.layers >= committed);
        Layers { id, processes, partitions, committed, whole: parts }
    }

    /// Returns the directory with the layers of a process: its own, or one with second copies.
    fn home(&self, owner: usize) -> Option<usize> {
        let homes = self.whole.iter().filter(|(_, part)| part.member.process == owner).map(|(_, part)| part.home);
        homes.min_by_key(|&home| (home != owner, home))
    }

    fn lost(&self) -> impl Iterator<Item = usize> {
        (0..self.processes).filter(|&owner| self.home(owner).is_none())
    }

    /// Returns how the layers of a process are read. One process reads all files of a directory, which it locks: the one
    /// that works in it, or else one of those that can read it.
    fn source(&self, owner: usize, processes: usize) -> Source {
        let home = self.home(owner).expect("a process can read the part");
        let readers = self.whole.iter().filter(|(_, part)| part.home == home).map(|&(process, _)| process);
        let readers: BTreeSet<usize> = readers.collect();
        let works_there = self.processes == processes && readers.contains(&home);
        let other = || *readers.iter().nth(home % readers.len()).expect("there are readers");
        Source { owner, home, sender: if works_there { home } else { other() } }
    }

    /// Returns how a cluster of `processes` processes begins with these layers.
    fn work(&self, processes: usize) -> EarlierWork {
        let source = |owner| self.source(owner, processes);
        if self.processes != processes {
            let sources = (0..self.processes).map(source).collect();
            return EarlierWork::Moved { processes: self.processes, sources };
        }
        let keeps = |owner: usize| {
            let own = |&(process, part): &(usize, &FoundPart)| {
                (process, part.member.process, part.home) == (owner, owner, owner)
            };
            self.whole.iter().any(own)
        };
        EarlierWork::Same { lost: (0..processes).filter(|&owner| !keeps(owner)).map(source).collect() }
    }
}

impl FoundPart {
    /// Returns the number of layers that are committed according to this part. A process begins a layer when the previous
    /// one is committed.
    fn known_committed(&self) -> u32 {
        let begun = if self.home == self.member.process { self.layers.saturating_sub(1) } else { 0 };
        self.committed.max(begun)
    }
}

/// Returns how the processes begin, which follows from what they have found. Of the complete sets of layers, the one with
/// the most layers wins.
pub(super) fn decide(beginnings: &[Beginning], me: usize) -> Result<Decision, CannotBegin> {
    let processes = beginnings.len();
    if let Some(decision) = finished(beginnings) {
        return Ok(decision);
    }
    let all = Layers::all(beginnings);
    let order = |layers: &&Layers| (layers.lost().next().is_none(), layers.committed, layers.processes == processes);
    match all.iter().filter(|layers| layers.committed > 0).max_by_key(order) {
        None => new_build(beginnings, me),
        Some(layers) if layers.lost().next().is_some() => Err(CannotBegin::Lost(LostParts {
            processes: layers.processes,
            owners: layers.lost().collect(),
            partitions: layers.partitions,
        })),
        Some(layers) => Ok(Decision {
            id: layers.id.to_owned(),
            partitions: layers.partitions,
            committed: layers.committed,
            work: layers.work(processes),
        }),
    }
}

/// Returns the decision if every process has completed its part of the same table. Their layers may be removed already.
fn finished(beginnings: &[Beginning]) -> Option<Decision> {
    let id = beginnings[0].finished.as_ref().filter(|_| beginnings.iter().all(|beginning| !beginning.fresh))?;
    let part = |(process, beginning): (usize, &Beginning)| {
        let own = MemberId { process, processes: beginnings.len() };
        let part = beginning.parts.iter().find(|part| part.member == own && part.id == *id);
        part.filter(|_| beginning.finished.as_ref() == Some(id)).map(|part| part.partitions)
    };
    let partitions = beginnings.iter().enumerate().map(part).collect::<Option<Vec<_>>>()?;
    let work = EarlierWork::Same { lost: Vec::new() };
    Some(Decision { id: id.clone(), partitions: partitions[0], committed: 0, work })
}

fn new_build(beginnings: &[Beginning], me: usize) -> Result<Decision, CannotBegin> {
    let text = |(fixed, words): (usize, usize)| format!("{fixed} {words}");
    let ours = beginnings[me].partitions;
    if let Some((process, other)) = beginnings.iter().enumerate().find(|(_, other)| other.partitions != ours) {
        let (what, theirs) = ("the partitions of the memory limit".to_owned(), text(other.partitions));
        return Err(CannotBegin::Differs(ClusterError::Differs { process, what, theirs, ours: text(ours) }));
    }
    Ok(Decision { id: beginnings[0].new_id.clone(), partitions: ours, committed: 0, work: EarlierWork::None })
}

/// Returns the processes of other clusters whose files process `me` removes when this cluster has all layers: those of
/// the same build without further layers, or all of them before a new build. Only one process removes each of them.
pub(super) fn obsolete(beginnings: &[Beginning], decision: &Decision, me: usize) -> Vec<MemberId> {
    let is_obsolete = |part: &&FoundPart| {
        let is_other = part.member.processes != beginnings.len() && part.home == part.member.process;
        let is_done = part.id == decision.id && part.known_committed() <= decision.committed;
        is_other && (decision.work == EarlierWork::None || is_done)
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
            home: process,
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
        Source { owner, home: owner, sender }
    }

    /// Marks a part as the second copy that a process keeps.
    fn copy(mut beginning: Beginning, part: usize, home: usize) -> Beginning {
        beginning.parts[part].home = home;
        beginning
    }

    #[test]
    fn builds_without_committed_layers_start_again() {
        assert_eq!(work(&[found(&[]), found(&[])]), EarlierWork::None);
        assert_eq!(work(&[found(&[("a", 0, 2, 1, 0)]), found(&[("a", 1, 2, 0, 0)])]), EarlierWork::None);
        let fresh =
            |process| Beginning { fresh: true, finished: Some("a".to_owned()), ..found(&[("a", process, 2, 5, 4)]) };
        assert_eq!(work(&[fresh(0), fresh(1)]), EarlierWork::None);
        let other = Beginning { partitions: (2, 64), ..found(&[]) };
        assert!(matches!(decide(&[found(&[]), other], 0), Err(CannotBegin::Differs(_))));
    }

    #[test]
    fn builds_of_the_same_processes_resume() {
        let same = |lost: &[Source]| EarlierWork::Same { lost: lost.to_vec() };
        assert_eq!(work(&[found(&[("a", 0, 2, 5, 4)]), found(&[("a", 1, 2, 4, 0)])]), same(&[]));
        // The second copy of process 1 is at process 0. A part that is not whole counts as lost.
        let keeper = copy(found(&[("a", 0, 2, 5, 4), ("a", 1, 2, 4, 4)]), 1, 0);
        let restored = same(&[Source { owner: 1, home: 0, sender: 0 }]);
        assert_eq!(work(&[keeper.clone(), found(&[("a", 1, 2, 3, 0)])]), restored);
        // In a shared work directory, process 1 sees the copy too.
        assert_eq!(work(&[keeper.clone(), keeper]), restored);
        // A copy of a layer that was not committed, or of an earlier build, proves nothing.
        let newer = copy(found(&[("a", 0, 2, 4, 4), ("a", 1, 2, 9, 4)]), 1, 0);
        assert_eq!(work(&[newer, found(&[("a", 1, 2, 4, 0)])]), same(&[]));
        assert_eq!(lost(&[found(&[("a", 0, 2, 5, 4)]), found(&[("a", 1, 2, 3, 0)])]), (2, vec![1]));
        // Process 0 has recorded which layers are committed, but process 1 had begun layer 4.
        assert_eq!(lost(&[found(&[]), found(&[("a", 1, 2, 5, 0)])]), (2, vec![0]));
        // Layers of another build with fewer distances are not used.
        let two = [found(&[("b", 0, 2, 3, 3), ("a", 0, 2, 5, 4)]), found(&[("b", 1, 2, 3, 0), ("a", 1, 2, 5, 0)])];
        assert_eq!(decide(&two, 0).unwrap().id, "a");
        // Nor are those of a build whose parts are not complete.
        let incomplete =
            [found(&[("b", 0, 2, 3, 3), ("a", 0, 3, 5, 4)]), found(&[("b", 1, 2, 3, 0), ("a", 1, 3, 5, 0)])];
        let decision = decide(&incomplete, 0).unwrap();
        assert_eq!((&*decision.id, obsolete(&incomplete, &decision, 0)), ("b", vec![]));
    }

    #[test]
    fn layers_of_another_number_of_processes_are_moved() {
        let second = copy(found(&[("a", 1, 3, 5, 0), ("a", 0, 3, 5, 0)]), 1, 1);
        let three = [found(&[("a", 0, 3, 6, 5), ("a", 2, 3, 6, 5)]), second];
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
        copies[0].parts[1].home = 0;
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
