//! The gates of lane programs, evaluated in runs of one shape.

use std::ops::{Index, IndexMut, Range};

use super::bits::Bits;

/// The number of a slot.
pub type Slot = u32;

/// The number of slots that 16 bits can number.
const NARROW: usize = 1 << 16;

/// The maximum number of literals of a gate.
pub const WIDEST: usize = 8;

/// The values that programs read and write.
#[derive(Clone)]
pub struct LaneSlots(Box<[Bits]>);

impl LaneSlots {
    /// Creates slots for programs that use at most `count`. All values are false.
    pub fn new(count: usize) -> LaneSlots {
        LaneSlots(vec![Bits::NONE; LaneSlots::allocated(count)].into_boxed_slice())
    }

    /// Returns the memory of slots for programs that use at most `count`, in bytes.
    pub fn bytes(count: usize) -> usize {
        LaneSlots::allocated(count) * size_of::<Bits>()
    }

    fn allocated(count: usize) -> usize {
        count.next_power_of_two().max(NARROW)
    }
}

impl Index<Slot> for LaneSlots {
    type Output = Bits;

    #[inline]
    fn index(&self, slot: Slot) -> &Bits {
        &self.0[slot as usize]
    }
}

impl IndexMut<Slot> for LaneSlots {
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut Bits {
        &mut self.0[slot as usize]
    }
}

impl Index<Range<Slot>> for LaneSlots {
    type Output = [Bits];

    fn index(&self, slots: Range<Slot>) -> &[Bits] {
        &self.0[slots.start as usize..slots.end as usize]
    }
}

impl IndexMut<Range<Slot>> for LaneSlots {
    fn index_mut(&mut self, slots: Range<Slot>) -> &mut [Bits] {
        &mut self.0[slots.start as usize..slots.end as usize]
    }
}

/// The number of a slot in code. The access needs no bounds check.
pub trait SlotNumber: TryFrom<Slot> + Copy {
    /// The slots that have such a number.
    type Slots: ?Sized;

    /// Returns the slots that have such a number.
    fn of(slots: &mut LaneSlots) -> &mut Self::Slots;

    /// Returns the value in the slot.
    fn get(self, slots: &Self::Slots) -> Bits;

    /// Sets the value in the slot.
    fn set(self, slots: &mut Self::Slots, value: Bits);
}

impl SlotNumber for u16 {
    type Slots = [Bits; NARROW];

    fn of(slots: &mut LaneSlots) -> &mut [Bits; NARROW] {
        slots.0.first_chunk_mut().expect("there is a slot for each 16-bit number")
    }

    #[inline]
    fn get(self, slots: &[Bits; NARROW]) -> Bits {
        slots[self as usize]
    }

    #[inline]
    fn set(self, slots: &mut [Bits; NARROW], value: Bits) {
        slots[self as usize] = value;
    }
}

/// The number of slots is a power of two, so the mask does not change a number.
impl SlotNumber for Slot {
    type Slots = [Bits];

    fn of(slots: &mut LaneSlots) -> &mut [Bits] {
        &mut slots.0
    }

    #[inline]
    fn get(self, slots: &[Bits]) -> Bits {
        slots[self as usize & (slots.len() - 1)]
    }

    #[inline]
    fn set(self, slots: &mut [Bits], value: Bits) {
        let mask = slots.len() - 1;
        slots[self as usize & mask] = value;
    }
}

/// The gates of the `PARTS` parts of a program.
#[derive(Clone)]
pub struct GateCode<S: SlotNumber, const PARTS: usize> {
    code: Vec<S>,
    runs: [Vec<GateRun<S>>; PARTS],
}

/// Adjacent gates of one shape.
struct GateRun<S: SlotNumber> {
    kernel: fn(&mut S::Slots, &[S]),
    code: Range<usize>,
}

// A derived implementation would require `S::Slots: Clone`.
impl<S: SlotNumber> Clone for GateRun<S> {
    fn clone(&self) -> GateRun<S> {
        GateRun { kernel: self.kernel, code: self.code.clone() }
    }
}

impl<S: SlotNumber, const PARTS: usize> GateCode<S, PARTS> {
    /// Creates code without gates.
    pub fn new() -> GateCode<S, PARTS> {
        GateCode { code: Vec::new(), runs: [const { Vec::new() }; PARTS] }
    }

    /// Appends gates of one shape to a part: for each gate the slots of the plain literals, those of the negated
    /// literals, and that of the result.
    ///
    /// # Panics
    ///
    /// Panics if a slot does not fit into `S`.
    pub fn add_run(&mut self, part: usize, shape: GateShape, slots: impl Iterator<Item = Slot>) {
        let start = self.code.len();
        self.code.extend(slots.map(|slot| S::try_from(slot).ok().expect("the slot fits into the code")));
        self.runs[part].push(GateRun { kernel: kernel(shape), code: start..self.code.len() });
    }

    /// Evaluates the gates of a part.
    pub fn run(&self, part: usize, slots: &mut LaneSlots) {
        let slots = S::of(slots);
        for run in &self.runs[part] {
            (run.kernel)(slots, &self.code[run.code.clone()]);
        }
    }

    /// Returns the memory of the code in bytes.
    pub fn bytes(&self) -> usize {
        let runs: usize = self.runs.iter().map(Vec::capacity).sum();
        self.code.capacity() * size_of::<S>() + runs * size_of::<GateRun<S>>()
    }
}

/// Evaluates conjunctions of `P` literals and the negations of `N` more,
/// inverted if `INVERTED`. Each has `LENGTH` words of code: the `P + N` slots
/// that it reads and the slot that it writes.
fn gates<S: SlotNumber, const P: usize, const N: usize, const LENGTH: usize, const INVERTED: bool>(
    slots: &mut S::Slots,
    code: &[S],
) {
    for gate in code.as_chunks::<LENGTH>().0 {
        let mut value = Bits::ALL;
        for slot in &gate[..P] {
            value &= slot.get(slots);
        }
        for slot in &gate[P..P + N] {
            value &= !slot.get(slots);
        }
        gate[P + N].set(slots, if INVERTED { !value } else { value });
    }
}

/// The numbers of plain and negated literals, and whether the result is
/// inverted.
pub type GateShape = (usize, usize, bool);

fn kernel<S: SlotNumber>(shape: GateShape) -> fn(&mut S::Slots, &[S]) {
    macro_rules! kernels {
        ($($p:literal $n:literal $length:literal)*) => {
            match shape {
                $(($p, $n, false) => gates::<S, $p, $n, $length, false>,
                  ($p, $n, true) => gates::<S, $p, $n, $length, true>,)*
                _ => unreachable!("a gate has 1 to {WIDEST} literals"),
            }
        };
    }
    kernels!(
        1 0 2  0 1 2
        2 0 3  1 1 3  0 2 3
        3 0 4  2 1 4  1 2 4  0 3 4
        4 0 5  3 1 5  2 2 5  1 3 5  0 4 5
        5 0 6  4 1 6  3 2 6  2 3 6  1 4 6  0 5 6
        6 0 7  5 1 7  4 2 7  3 3 7  2 4 7  1 5 7  0 6 7
        7 0 8  6 1 8  5 2 8  4 3 8  3 4 8  2 5 8  1 6 8  0 7 8
        8 0 9  7 1 9  6 2 9  5 3 9  4 4 9  3 5 9  2 6 9  1 7 9  0 8 9
    )
}
