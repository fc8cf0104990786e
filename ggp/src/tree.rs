//! The tree of a Monte-Carlo search, in two arenas.

use std::collections::HashMap;
use std::ops::Range;

use crate::game::{Game, Turn};
use crate::parts::MoveStats;

/// The index of a node in its tree.
pub(crate) type NodeId = u32;

/// A state in the tree: its moves are edges, role after role.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub turn: Turn,
    pub visits: u32,
    first_edge: u32,
    /// How many edges each acting role has; the last role's come last.
    counts: Counts,
}

/// The edges of one role, which need no allocation, or of all.
#[derive(Clone, Debug)]
enum Counts {
    One(u32),
    All(Box<[u32]>),
}

#[derive(Clone, Debug)]
pub(crate) struct Edge<M> {
    pub mv: M,
    pub stats: MoveStats,
    /// The state after the move, where one role moves alone.
    child: Option<std::num::NonZeroU32>,
}

/// Node 0 is the root.
#[derive(Debug)]
pub(crate) struct Tree<M> {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge<M>>,
    /// The states after joint moves, by node and the number of the joint move.
    joint_children: HashMap<(NodeId, u64), NodeId>,
}

impl<M: Copy + Eq> Tree<M> {
    pub fn new() -> Tree<M> {
        Tree { nodes: Vec::new(), edges: Vec::new(), joint_children: HashMap::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn clear(&mut self) {
        self.nodes.clear();
        self.edges.clear();
        self.joint_children.clear();
    }

    /// Adds a node with the moves of each acting role. A terminal state has none.
    pub fn add<G: Game<Move = M>>(&mut self, game: &G, state: &G::State, moves: &mut Vec<M>) -> NodeId {
        let id = self.nodes.len() as NodeId;
        let first_edge = self.edges.len() as u32;
        let turn = game.turn(state);
        let mut add_role = |role| {
            moves.clear();
            if !game.is_terminal(state) {
                game.legal(state, role, moves);
            }
            self.edges.extend(moves.iter().map(|&mv| Edge { mv, stats: MoveStats::default(), child: None }));
            moves.len() as u32
        };
        let counts = match turn {
            Turn::One(role) => Counts::One(add_role(role)),
            Turn::All => Counts::All((0..game.roles()).map(add_role).collect()),
        };
        self.nodes.push(Node { turn, visits: 0, first_edge, counts });
        id
    }

    /// The edges of an acting role, the `seat`-th to act.
    #[inline]
    pub fn edges_of(&self, node: NodeId, seat: usize) -> Range<usize> {
        let node = &self.nodes[node as usize];
        let first = node.first_edge as usize;
        match &node.counts {
            Counts::One(count) => first..first + *count as usize,
            Counts::All(counts) => {
                let before: u32 = counts[..seat].iter().sum();
                let start = first + before as usize;
                start..start + counts[seat] as usize
            }
        }
    }

    /// Whether the node's state is terminal.
    #[inline]
    pub fn is_leaf(&self, node: NodeId) -> bool {
        self.edges_of(node, 0).is_empty()
    }

    /// The number of the joint move that these edges, one a seat, make.
    fn joint(&self, node: NodeId, edges: &[u32]) -> u64 {
        let seats = edges.iter().enumerate();
        seats.fold(0u64, |joint, (seat, &edge)| {
            let range = self.edges_of(node, seat);
            joint.wrapping_mul(range.len() as u64).wrapping_add(u64::from(edge) - range.start as u64)
        })
    }

    /// The node after these edges, one a seat.
    #[inline]
    pub fn child(&self, node: NodeId, edges: &[u32]) -> Option<NodeId> {
        match self.nodes[node as usize].turn {
            Turn::One(_) => self.edges[edges[0] as usize].child.map(|child| child.get()),
            Turn::All => self.joint_children.get(&(node, self.joint(node, edges))).copied(),
        }
    }

    pub fn set_child(&mut self, node: NodeId, edges: &[u32], child: NodeId) {
        match self.nodes[node as usize].turn {
            // The root is nobody's child, so no child is node 0.
            Turn::One(_) => self.edges[edges[0] as usize].child = std::num::NonZeroU32::new(child),
            Turn::All => {
                self.joint_children.insert((node, self.joint(node, edges)), child);
            }
        }
    }

    /// Keeps what lies below `root`, which becomes node 0.
    pub fn reroot(&mut self, root: NodeId) {
        let mut kept = Tree::new();
        let mut queue = vec![root];
        let mut children: HashMap<NodeId, Vec<(u64, NodeId)>> = HashMap::new();
        for (&(node, joint), &child) in &self.joint_children {
            children.entry(node).or_default().push((joint, child));
        }
        let mut next = 0;
        while let Some(&old) = queue.get(next) {
            let id = next as NodeId;
            next += 1;
            let mut node = self.nodes[old as usize].clone();
            let first = node.first_edge as usize;
            let count = match &node.counts {
                Counts::One(count) => *count,
                Counts::All(counts) => counts.iter().sum(),
            };
            node.first_edge = kept.edges.len() as u32;
            for edge in &self.edges[first..first + count as usize] {
                let mut edge = edge.clone();
                if let Some(child) = edge.child {
                    edge.child = std::num::NonZeroU32::new(queue.len() as u32);
                    queue.push(child.get());
                }
                kept.edges.push(edge);
            }
            for &(joint, child) in children.get(&old).into_iter().flatten() {
                kept.joint_children.insert((id, joint), queue.len() as NodeId);
                queue.push(child);
            }
            kept.nodes.push(node);
        }
        *self = kept;
    }
}
