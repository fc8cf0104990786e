/**
 * The types of the JSON interface and of the page. This module has no code.
 *
 * @typedef {"x" | "o"} Side
 * @typedef {"x" | "o" | "draw"} Result
 *
 * @typedef {object} Distance the moves that an army needs alone on the board
 * @property {number | null} distance
 * @property {boolean | null} exact false for an upper bound
 *
 * @typedef {object} MoveRow a legal move
 * @property {string} move
 * @property {string[]} path the cells of the hops; the first is the source
 * @property {number | null} distance the distance after the move
 * @property {boolean | null} exact
 * @property {number | null} change the distance after the move minus the distance before it
 *
 * @typedef {object} Position a position of the two-player game
 * @property {string} position
 * @property {number} side cells along an edge
 * @property {number} pieces
 * @property {Side} player
 * @property {number} ply
 * @property {Result | null} result
 * @property {string | null} table
 * @property {{x: Distance, o: Distance}} distances
 * @property {number | null} lead
 * @property {boolean} separated
 * @property {MoveRow[]} moves
 *
 * @typedef {object} State one army alone on the board
 * @property {string} state
 * @property {Side} player
 * @property {number} rank
 * @property {number | null} distance
 * @property {boolean | null} exact
 * @property {"goal" | "exact" | "bound" | "outside"} category
 * @property {MoveRow[]} moves
 *
 * @typedef {object} LineMove
 * @property {string} move
 * @property {string[]} path
 * @property {string} state
 * @property {number | null} distance
 *
 * @typedef {object} Line a shortest way to the goal
 * @property {string} state
 * @property {Side} player
 * @property {number} distance
 * @property {boolean} exact
 * @property {LineMove[]} line
 *
 * @typedef {{cell: string, distance: number | null, exact: boolean | null}} HeatCell
 *
 * @typedef {object} TableInfo
 * @property {string} name
 * @property {number} side
 * @property {number} pieces
 * @property {number} within cells that the table covers
 * @property {number} states
 * @property {string} encoding
 * @property {boolean} mirrored
 * @property {number} bytes
 * @property {number} max_distance
 * @property {number | null} start_distance
 * @property {number | null} exact_to
 * @property {string} checksum
 * @property {number[]} [layers] the number of states at each distance
 *
 * @typedef {object} Build
 * @property {string} id
 * @property {string} table
 * @property {"running" | "done" | "failed" | "cancelled"} state
 * @property {string | null} phase
 * @property {number} done
 * @property {number} total
 * @property {number} found the states whose distance is known
 * @property {number} states all states, or 0 before the first layer
 * @property {number} seconds
 * @property {string | null} error
 *
 * @typedef {{kind: "lead" | "reward" | "won" | "lost", value: number}} Value
 *
 * @typedef {object} Info the state of a search
 * @property {number} line
 * @property {number} depth
 * @property {number} nodes
 * @property {number} playouts
 * @property {number} seconds
 * @property {Value | null} value for the player to move
 * @property {string[]} pv
 * @property {string} [move] the chosen move, at the end of the search
 * @property {string[]} [path]
 *
 * @typedef {{name: string, about: string | null}} Player
 *
 * @typedef {object} RecordLine
 * @property {string[]} [comments]
 * @property {RecordNode[]} game
 *
 * @typedef {object} RecordNode
 * @property {string} move
 * @property {Value | null} [value]
 * @property {number | null} [depth]
 * @property {number | null} [nodes]
 * @property {number | null} [seconds]
 * @property {[string, string][]} [data]
 * @property {string[]} [comments]
 * @property {RecordLine[]} [variations]
 *
 * @typedef {object} GameRecord
 * @property {[string, string][]} tags
 * @property {string} position
 * @property {number} [ply_limit]
 * @property {string[]} [comments]
 * @property {RecordNode[]} game
 * @property {string} result
 *
 * @typedef {{nodes?: number, seconds?: number, depth?: number, playouts?: number}} Limits
 */

export {};
