//! Breadth-first search out of core: layers on disk, one class in memory.
//!
//! Moves can be taken back, so what is one move from a layer is in it, in the
//! layer before, or in the one after. A layer thus follows from the two before
//! it, and nothing else need be known: no labels, no set of seen states. Each
//! layer is written once, compressed ([`layer_file`](crate::layer_file)), and
//! all are read once more for the table.
//!
//! Classes ([`cut`](crate::cut)) are taken in order. Of each, the layer's
//! states are unpacked, expanded as in memory, and what they reach in units to
//! come is put aside ([`pending`](crate::pending)); the unit of the class is
//! complete then, and is packed and written.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use rayon::prelude::*;
use sternhalma_data::Prefix;
use sternhalma_data::table::fs::FileSystem;

use crate::cut::{Chunk, Class, Cut};
use crate::error::BuildError;
use crate::expand::{Expander, Layer, Scratch};
use crate::layer_file::{Codec, LayerFile, LayerWriter, Packed, Summary};
use crate::memory::Limits;
use crate::monitor::Monitor;
use crate::pending::Pending;

/// Tasks a thread should find in a class, so that all threads end together.
const TASKS: u64 = 32;

/// Chunks a thread packs before they are written.
pub(crate) const CHUNKS_AT_ONCE: usize = 4;

/// Expands layers on disk.
pub(crate) struct Search<'a> {
    pub cut: Cut,
    upper: usize,
    expander: Expander,
    workers: Vec<Mutex<Worker>>,
    /// The layer's states of the class.
    frontier: Vec<u64>,
    /// What they reach.
    next: Vec<AtomicU64>,
    pending: Pending,
    monitor: &'a dyn Monitor,
}

/// What one thread works in.
pub(crate) struct Worker {
    scratch: Scratch,
    pub codec: Codec,
    pub words: Vec<u64>,
    room: Vec<u64>,
}

impl<'a> Search<'a> {
    /// `spill` is where what does not fit in memory is put aside. For as many
    /// threads as the pool this is called in has.
    pub fn new(
        prefix: Prefix,
        limits: Limits,
        storage: &Arc<dyn FileSystem>,
        spill: &Path,
        monitor: &'a dyn Monitor,
    ) -> Search<'a> {
        let cut = Cut::new(prefix, limits.fixed, limits.chunk_words);
        let expander = Expander::new(prefix, limits.lanes);
        let most = cut.most_words();
        let worker = || Worker {
            scratch: expander.scratch(),
            codec: Codec::new(),
            words: vec![0; limits.chunk_words + 1],
            room: vec![0; limits.chunk_words + 1],
        };
        let workers = (0..rayon::current_num_threads()).map(|_| Mutex::new(worker())).collect();
        Search {
            upper: prefix.board().pieces() - 1 - limits.lanes,
            cut,
            workers,
            expander,
            frontier: vec![0; most],
            next: (0..most).map(|_| AtomicU64::new(0)).collect(),
            pending: Pending::new(storage, spill, limits.pending),
            monitor,
        }
    }

    /// Groups of contexts, the steps of a layer's work.
    pub fn groups(&self) -> u64 {
        self.expander.groups()
    }

    /// Writes the layer after `layer`. `before` is the one before that. The
    /// summary is complete but for time and traffic.
    pub fn expand(
        &mut self,
        layer: &LayerFile,
        before: Option<&LayerFile>,
        out: &mut LayerWriter,
    ) -> Result<Summary, BuildError> {
        let escapes = AtomicBool::new(false);
        let mut states = 0;
        let mut class = self.cut.class(0, self.upper);
        for unit in 0..self.cut.units() {
            if self.monitor.cancelled() {
                return Err(BuildError::Cancelled);
            }
            let following = (unit + 1 < self.cut.units()).then(|| self.cut.class(unit + 1, self.upper));
            if let Some(following) = &following {
                self.chunks(following).for_each(|chunks| layer.prefetch(chunks));
            }
            if let Some(before) = before {
                before.prefetch(self.own_chunks(unit));
            }
            let any = self.chunks(&class).any(|chunks| !layer.is_empty(chunks));
            if any {
                self.load(&class, layer)?;
                self.expand_class(&class, &escapes);
            }
            self.monitor.advance(class.groups.end - class.groups.start);
            // They have nothing in common: other units, and this one.
            let aside = || if any { self.put_aside(&class) } else { Ok(()) };
            let (aside, written) = rayon::join(aside, || self.write_unit(&class, any, before, out));
            aside?;
            states += written?;
            if let Some(following) = following {
                class = following;
            }
        }
        self.pending.rewind();
        let successors = self
            .workers
            .iter_mut()
            .map(|worker| worker.get_mut().expect("no worker panicked").scratch.take_successors())
            .sum();
        Ok(Summary { states, escapes: escapes.into_inner(), successors, ..Summary::default() })
    }

    fn own_chunks(&self, unit: u64) -> Range<u64> {
        let (first, chunks) = self.cut.unit_chunks(unit);
        first..first + chunks.len() as u64
    }

    /// The chunks of a class: its own unit's, and those it visits.
    fn chunks(&self, class: &Class) -> impl Iterator<Item = Range<u64>> {
        let own = self.own_chunks(class.unit);
        std::iter::once(own).chain(class.visits.iter().map(|visit| visit.chunks.clone()))
    }

    /// Unpacks the layer's states of a class.
    fn load(&mut self, class: &Class, layer: &LayerFile) -> Result<(), BuildError> {
        let mut parts = self.cut.own_parts(class);
        parts.extend(self.cut.visited_parts(class));
        // Each part gets the words up to where the next one begins; what does
        // not fit is a last word that the two share.
        let ends: Vec<usize> = parts.iter().skip(1).map(|part| part.at).chain([class.words]).collect();
        let mut rest = &mut self.frontier[..class.words];
        let mut tasks = Vec::with_capacity(parts.len());
        let mut done = 0;
        for (part, end) in parts.iter().zip(ends) {
            let (own, left) = rest.split_at_mut(end - done);
            tasks.push((part, own));
            (rest, done) = (left, end);
        }
        let workers = &self.workers;
        let shared: Vec<(usize, u64)> = tasks
            .into_par_iter()
            .map(|(part, own)| {
                own.fill(0);
                if layer.is_empty(part.chunk..part.chunk + 1) {
                    return Ok(None);
                }
                let Worker { codec, words, .. } = &mut *worker(workers);
                let words = &mut words[..part.words()];
                layer.read(part.chunk, words, codec)?;
                let (whole, last) = words.split_at(part.words().min(own.len()));
                own[..whole.len()].copy_from_slice(whole);
                Ok(last.first().map(|&word| (part.at + own.len(), word)))
            })
            .filter_map(Result::transpose)
            .collect::<Result<_, BuildError>>()?;
        shared.into_iter().for_each(|(at, word)| self.frontier[at] |= word);
        Ok(())
    }

    fn expand_class(&self, class: &Class, escapes: &AtomicBool) {
        let frontier = &self.frontier[..class.words];
        let layer = Layer {
            places: &class.places,
            frontier,
            seen: [frontier, frontier],
            next: &self.next[..class.words],
            escapes,
        };
        let count = class.groups.end - class.groups.start;
        let grain = (count / (TASKS * self.workers.len() as u64)).clamp(1, 64);
        // The groups with the highest pieces are the largest: they come first.
        let left = AtomicU64::new(count.div_ceil(grain));
        rayon::broadcast(|_| {
            let scratch = &mut worker(&self.workers).scratch;
            while let Ok(task) = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
                let first = class.groups.start + (task - 1) * grain;
                let batch = first..class.groups.end.min(first + grain);
                batch.for_each(|group| self.expander.expand_group(group, &layer, scratch));
            }
        });
    }

    /// Moves what was reached in units to come out of the bitmap.
    fn put_aside(&self, class: &Class) -> Result<(), BuildError> {
        self.cut.visited_parts(class).into_par_iter().try_for_each(|part| {
            let next = &self.next[part.at..part.at + part.words()];
            if next.iter().all(|word| word.load(Relaxed) == 0) {
                return Ok(());
            }
            let Worker { codec, words, .. } = &mut *worker(&self.workers);
            let words = &mut words[..part.words()];
            words.iter_mut().zip(next).for_each(|(word, next)| *word = next.swap(0, Relaxed));
            self.pending.add(part.chunk, words, codec)
        })
    }

    /// Packs and writes the unit of a class, in which all has been reached
    /// now, and returns its number of states. The bitmap is empty after that.
    fn write_unit(
        &self,
        class: &Class,
        expanded: bool,
        before: Option<&LayerFile>,
        out: &mut LayerWriter,
    ) -> Result<u64, BuildError> {
        let own = self.own_chunks(class.unit);
        if !expanded && !self.pending.any(own.clone()) {
            out.add_empty(own.end - own.start);
            return Ok(0);
        }
        let (first, shapes) = self.cut.unit_chunks(class.unit);
        let pack = |batch: Range<usize>| -> Result<Vec<(Packed, u64)>, BuildError> {
            let chunks = batch.into_par_iter().with_max_len(1);
            chunks.map(|i| self.pack(&shapes[i], first + i as u64, expanded, before)).collect()
        };
        let mut states = 0;
        let mut batches = self.batches(shapes).into_iter();
        let mut next = batches.next().map_or(Ok(Vec::new()), &pack)?;
        while !next.is_empty() {
            let (packed, counts): (Vec<Packed>, Vec<u64>) = next.into_iter().unzip();
            states += counts.iter().sum::<u64>();
            let (written, following) = match batches.next() {
                Some(batch) => rayon::join(|| out.add(&packed), || pack(batch)),
                None => (out.add(&packed), Ok(Vec::new())),
            };
            written?;
            next = following?;
        }
        if expanded {
            let words = self.own_words(class);
            self.next[..words].par_iter().with_min_len(1 << 14).for_each(|word| word.store(0, Relaxed));
        }
        Ok(states)
    }

    /// Cuts the chunks of a unit into batches, none much larger than the
    /// largest chunks that threads pack at once.
    fn batches(&self, chunks: &[Chunk]) -> Vec<Range<usize>> {
        let most = CHUNKS_AT_ONCE * self.workers.len() * self.cut.chunk_words();
        let (mut batches, mut first, mut words) = (Vec::new(), 0, 0);
        for (i, chunk) in chunks.iter().enumerate() {
            if words + chunk.words().len() > most {
                batches.push(first..i);
                (first, words) = (i, 0);
            }
            words += chunk.words().len();
        }
        batches.push(first..chunks.len());
        batches
    }

    fn own_words(&self, class: &Class) -> usize {
        let (_, chunks) = self.cut.unit_chunks(class.unit);
        chunks.last().map_or(0, |chunk| chunk.words().end)
    }

    /// A chunk of the class's unit: what was reached, but for the two layers before.
    fn pack(
        &self,
        shape: &Chunk,
        chunk: u64,
        expanded: bool,
        before: Option<&LayerFile>,
    ) -> Result<(Packed, u64), BuildError> {
        let Worker { codec, words: buffer, room, .. } = &mut *worker(&self.workers);
        let range = shape.words();
        let words = &mut buffer[..range.len()];
        match expanded {
            true => {
                let reached = range.clone().zip(words.iter_mut());
                reached.for_each(|(at, word)| *word = self.next[at].load(Relaxed) & shape.mask(at));
            }
            false => words.fill(0),
        }
        self.pending.take(chunk, words, room, codec)?;
        if expanded {
            words.iter_mut().zip(&self.frontier[range.clone()]).for_each(|(word, known)| *word &= !known);
        }
        let mut any = words.iter().any(|&word| word != 0);
        if let Some(before) = before.filter(|_| any) {
            let room = &mut room[..range.len()];
            if before.read(chunk, room, codec)? {
                words.iter_mut().zip(room).for_each(|(word, known)| *word &= !*known);
                any = words.iter().any(|&word| word != 0);
            }
        }
        if !any {
            return Ok((Packed::default(), 0));
        }
        let states = words.iter().map(|word| u64::from(word.count_ones())).sum();
        Ok((codec.pack(words), states))
    }
}

/// The worker of this thread. No task that holds it waits for other tasks.
fn worker(workers: &[Mutex<Worker>]) -> MutexGuard<'_, Worker> {
    let index = rayon::current_thread_index().expect("this runs in the pool");
    workers[index].lock().expect("no worker panicked")
}
