//! Strongly connected components.

/// Returns the strongly connected components of a graph, each after the components
/// that it leads to. This is the algorithm of [Tarjan 1972], without recursion.
pub fn components(nodes: usize, edges: impl Fn(usize, &mut dyn FnMut(usize))) -> Vec<Vec<usize>> {
    const UNSEEN: u32 = u32::MAX;
    let (mut index, mut low) = (vec![UNSEEN; nodes], vec![0; nodes]);
    let mut on_stack = vec![false; nodes];
    let (mut stack, mut found, mut next) = (Vec::new(), Vec::new(), 0);
    // The nodes on the current path, each with its unvisited neighbours.
    let mut walk: Vec<(usize, Vec<usize>)> = Vec::new();
    for root in 0..nodes {
        if index[root] != UNSEEN {
            continue;
        }
        let mut enter = Some(root);
        loop {
            if let Some(node) = enter.take() {
                (index[node], low[node]) = (next, next);
                next += 1;
                stack.push(node);
                on_stack[node] = true;
                let mut neighbours = Vec::new();
                edges(node, &mut |other| neighbours.push(other));
                walk.push((node, neighbours));
            }
            let Some((node, neighbours)) = walk.last_mut() else { break };
            if let Some(other) = neighbours.pop() {
                if index[other] == UNSEEN {
                    enter = Some(other);
                } else if on_stack[other] {
                    low[*node] = low[*node].min(index[other]);
                }
                continue;
            }
            let node = *node;
            walk.pop();
            if let Some((parent, _)) = walk.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == index[node] {
                let start = stack.iter().rposition(|&other| other == node).unwrap_or(0);
                let component = stack.split_off(start);
                component.iter().for_each(|&other| on_stack[other] = false);
                found.push(component);
            }
        }
    }
    found
}
