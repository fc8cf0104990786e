//! The tree of a Monte-Carlo search: nodes and edges in two vectors.

use std::num::{NonZeroU16, NonZeroU32};
use std::ops::Range;

use rustc_hash::FxHashMap;
use sternhalma_game::{Game, SearchState, Turn, hash_table_bytes, reserve_within};

use super::{MoveStats, Selection};

/// The index of a node in its tree.
pub(crate) type NodeId = u32;

/// The index of an edge in its tree.
pub(crate) type EdgeId = u32;

/// A state in the tree, whose moves are edges ordered by role.
#[derive(Clone, Debug)]
pub(crate) struct TreeNode {
    pub turn: Turn,
    pub visits: u32,
    /// The [outcome](Tree::outcome) of the state, if it is proved: its index in
    /// `outcomes`, plus 1.
    pub(crate) proved: Option<NonZeroU16>,
    first_edge: u32,
    /// The number of edges of each acting role.
    counts: EdgeCounts,
}

/// The number of edges of the role that acts, or of each role. The first needs
/// no allocation.
#[derive(Clone, Debug)]
enum EdgeCounts {
    One(u32),
    All(Box<[u32]>),
}

impl TreeNode {
    /// Returns the number of edges of each acting role.
    fn counts(&self) -> &[u32] {
        match &self.counts {
            EdgeCounts::One(count) => std::slice::from_ref(count),
            EdgeCounts::All(counts) => counts,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Edge<M, N> {
    pub mv: M,
    pub stats: MoveStats,
    /// The data that the selection keeps of the move.
    pub data: N,
    /// The node after the move, if one role moves alone.
    child: Option<NonZeroU32>,
}

/// The tree. Node 0 is the root.
#[derive(Debug)]
pub(crate) struct Tree<M, N> {
    pub nodes: Vec<TreeNode>,
    pub edges: Vec<Edge<M, N>>,
    /// The nodes after joint moves, by node and then by the number of the joint move.
    joint_children: FxHashMap<NodeId, FxHashMap<u64, NodeId>>,
    /// The nodes of states with a key.
    by_key: FxHashMap<u64, NodeId>,
    /// The distinct rewards of all roles that were proved for states.
    pub(crate) outcomes: Vec<Box<[f64]>>,
    /// The largest number of edges of a node.
    widest: usize,
    /// The memory of the numbers of edges and of the tables of joint moves, in bytes.
    boxed: usize,
}

impl<M: Copy + Eq, N: Copy> Tree<M, N> {
    /// Creates a tree without nodes.
    pub fn new() -> Tree<M, N> {
        Tree {
            nodes: Vec::new(),
            edges: Vec::new(),
            joint_children: FxHashMap::default(),
            by_key: FxHashMap::default(),
            outcomes: Vec::new(),
            widest: 0,
            boxed: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn clear(&mut self) {
        self.nodes.clear();
        self.edges.clear();
        self.joint_children.clear();
        self.by_key.clear();
        self.outcomes.clear();
        self.boxed = 0;
    }

    /// Returns the memory of the tree in bytes.
    pub fn bytes(&self) -> usize {
        let nodes = self.nodes.capacity() * size_of::<TreeNode>();
        let edges = self.edges.capacity() * size_of::<Edge<M, N>>();
        let joint = hash_table_bytes::<(NodeId, FxHashMap<u64, NodeId>)>(self.joint_children.capacity());
        nodes + edges + joint + hash_table_bytes::<(u64, NodeId)>(self.by_key.capacity()) + self.boxed
    }

    /// Reserves space for a node and its edges, which takes at most `room` bytes. Returns whether
    /// there is space. A node with far more edges than all others may need more.
    #[inline]
    pub fn reserve(&mut self, room: impl Fn() -> u64) -> bool {
        fn grows<K, V>(table: &FxHashMap<K, V>, room: impl Fn() -> u64) -> bool {
            table.len() < table.capacity() || hash_table_bytes::<(K, V)>(table.capacity()) as u64 <= room()
        }
        reserve_within(&mut self.nodes, 1, &room)
            && reserve_within(&mut self.edges, 2 * self.widest, &room)
            && grows(&self.by_key, &room)
            && grows(&self.joint_children, &room)
            && (self.boxed == 0 || room() > 0)
    }

    /// Returns the node of a state with this key.
    #[inline]
    pub fn find(&self, key: u64) -> Option<NodeId> {
        self.by_key.get(&key).copied()
    }

    /// Sets the key of a node.
    pub fn set_key(&mut self, node: NodeId, key: u64) {
        self.by_key.insert(key, node);
    }

    /// Adds a node with the moves of each acting role. A terminal state has no moves.
    pub fn add<G: Game<Move = M>, V: SearchState<G>>(
        &mut self,
        game: &G,
        state: &V,
        moves: &mut Vec<M>,
        selection: &mut impl Selection<G, V, EdgeData = N>,
    ) -> NodeId {
        let id = self.nodes.len() as NodeId;
        let first_edge = self.edges.len() as u32;
        let turn = state.turn(game);
        let mut add_role = |role| {
            moves.clear();
            if !state.is_terminal(game) {
                state.legal(game, role, moves);
            }
            let edge = |(&mv, &data)| Edge { mv, stats: MoveStats::default(), data, child: None };
            self.edges.extend(moves.iter().zip(selection.edge_data(game, state, role, moves)).map(edge));
            moves.len() as u32
        };
        let counts = match turn {
            Turn::One(role) => EdgeCounts::One(add_role(role)),
            Turn::All => EdgeCounts::All((0..game.roles()).map(add_role).collect()),
        };
        if let EdgeCounts::All(counts) = &counts {
            self.boxed += size_of_val(&**counts);
        }
        self.widest = self.widest.max(self.edges.len() - first_edge as usize);
        self.nodes.push(TreeNode { turn, visits: 0, proved: None, first_edge, counts });
        id
    }

    /// Returns the edges of the `seat`-th role that acts.
    #[inline]
    pub fn edges_of(&self, node: NodeId, seat: usize) -> Range<usize> {
        let node = &self.nodes[node as usize];
        let first = node.first_edge as usize;
        match &node.counts {
            EdgeCounts::One(count) => first..first + *count as usize,
            EdgeCounts::All(counts) => {
                let before: u32 = counts[..seat].iter().sum();
                let start = first + before as usize;
                start..start + counts[seat] as usize
            }
        }
    }

    /// Returns whether the state of the node is terminal.
    #[inline]
    pub fn is_leaf(&self, node: NodeId) -> bool {
        self.edges_of(node, 0).is_empty()
    }

    /// Returns the number of the joint move with these edges, one for each acting role.
    fn joint(&self, node: NodeId, edges: &[u32]) -> u64 {
        let seats = edges.iter().enumerate();
        seats.fold(0u64, |joint, (seat, &edge)| {
            let range = self.edges_of(node, seat);
            joint.wrapping_mul(range.len() as u64).wrapping_add(u64::from(edge) - range.start as u64)
        })
    }

    /// Returns the node after these edges, one for each acting role.
    #[inline]
    pub fn child(&self, node: NodeId, edges: &[u32]) -> Option<NodeId> {
        match self.nodes[node as usize].turn {
            Turn::One(_) => self.edges[edges[0] as usize].child.map(|child| child.get()),
            Turn::All => self.joint_children.get(&node)?.get(&self.joint(node, edges)).copied(),
        }
    }

    /// Sets the node after these edges, one for each acting role.
    pub fn set_child(&mut self, node: NodeId, edges: &[u32], child: NodeId) {
        match self.nodes[node as usize].turn {
            // The root has no parent, so that no child is node 0.
            Turn::One(_) => self.edges[edges[0] as usize].child = NonZeroU32::new(child),
            Turn::All => {
                let joint = self.joint(node, edges);
                let children = self.joint_children.entry(node).or_default();
                let before = children.capacity();
                children.insert(joint, child);
                let bytes = hash_table_bytes::<(u64, NodeId)>;
                self.boxed += bytes(children.capacity()) - bytes(before);
            }
        }
    }

    /// Returns the children of each of some nodes, each with the edges that lead
    /// to it, one for each acting role. The order is always the same.
    pub fn children_of(&self, nodes: &[NodeId]) -> Vec<Vec<(Vec<u32>, NodeId)>> {
        let mut children = vec![Vec::new(); nodes.len()];
        for (&node, children) in nodes.iter().zip(&mut children) {
            if matches!(self.nodes[node as usize].turn, Turn::One(_)) {
                let child = |edge: usize| Some((vec![edge as u32], self.edges[edge].child?.get()));
                children.extend(self.edges_of(node, 0).filter_map(child));
            } else {
                let after = self.joint_children.get(&node).into_iter().flatten();
                children.extend(after.map(|(&joint, &child)| (self.edges_in(node, joint), child)));
            }
        }
        // The order must not depend on that of the hash table.
        children.iter_mut().for_each(|children| children.sort_unstable());
        children
    }

    /// Returns the edges of a joint move, one for each acting role.
    fn edges_in(&self, node: NodeId, mut joint: u64) -> Vec<u32> {
        let seats = self.nodes[node as usize].counts().len();
        let mut edges = vec![0; seats];
        for seat in (0..seats).rev() {
            let range = self.edges_of(node, seat);
            edges[seat] = range.start as u32 + (joint % range.len() as u64) as u32;
            joint /= range.len() as u64;
        }
        edges
    }

    /// Multiplies the statistics of all moves, as [`MoveStats::decayed`] does. The
    /// visits of a node become those of the moves of one role, or the largest
    /// such number if rounding makes the roles differ.
    pub fn decay(&mut self, by: f64) {
        self.edges.iter_mut().for_each(|edge| edge.stats = edge.stats.decayed(by));
        for node in 0..self.nodes.len() {
            let seats = self.nodes[node].counts().len();
            let visits = |seat| {
                let edges = &self.edges[self.edges_of(node as NodeId, seat)];
                edges.iter().map(|edge| edge.stats.visits).sum::<u32>()
            };
            self.nodes[node].visits = (0..seats).map(visits).max().unwrap_or(0);
        }
    }

    /// Keeps the nodes below `root`, which becomes node 0. Returns the new number
    /// of each old node, or `None` if it was dropped.
    pub fn reroot(&mut self, root: NodeId) -> Vec<Option<NodeId>> {
        let mut kept = Tree { outcomes: std::mem::take(&mut self.outcomes), ..Tree::new() };
        let mut queue = Queue::new(self.nodes.len());
        queue.number(root);
        let mut next = 0;
        while let Some(&old) = queue.nodes.get(next) {
            let id = next as NodeId;
            next += 1;
            let mut node = self.nodes[old as usize].clone();
            let first = node.first_edge as usize;
            let count: u32 = node.counts().iter().sum();
            if let EdgeCounts::All(counts) = &node.counts {
                kept.boxed += size_of_val(&**counts);
            }
            kept.widest = kept.widest.max(count as usize);
            node.first_edge = kept.edges.len() as u32;
            for edge in &self.edges[first..first + count as usize] {
                let mut edge = edge.clone();
                if let Some(child) = edge.child {
                    edge.child = NonZeroU32::new(queue.number(child.get()));
                }
                kept.edges.push(edge);
            }
            if let Some(after) = self.joint_children.get(&old) {
                let after = after.iter().map(|(&joint, &child)| (joint, queue.number(child)));
                let after: FxHashMap<u64, NodeId> = after.collect();
                kept.boxed += hash_table_bytes::<(u64, NodeId)>(after.capacity());
                kept.joint_children.insert(id, after);
            }
            kept.nodes.push(node);
        }
        let found = |(&key, &node): (&u64, &NodeId)| queue.numbers[node as usize].map(|number| (key, number));
        kept.by_key = self.by_key.iter().filter_map(found).collect();
        // They have doubled as they grew, perhaps beyond the tree before.
        kept.nodes.shrink_to_fit();
        kept.edges.shrink_to_fit();
        *self = kept;
        queue.numbers
    }
}

/// The nodes to keep, in the order of their new numbers.
struct Queue {
    nodes: Vec<NodeId>,
    /// By old number: the new one.
    numbers: Vec<Option<NodeId>>,
}

impl Queue {
    fn new(nodes: usize) -> Queue {
        Queue { nodes: Vec::new(), numbers: vec![None; nodes] }
    }

    /// Returns the new number of a node, which is kept.
    fn number(&mut self, node: NodeId) -> NodeId {
        *self.numbers[node as usize].get_or_insert_with(|| {
            self.nodes.push(node);
            self.nodes.len() as NodeId - 1
        })
    }
}
