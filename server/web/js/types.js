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
 * @typedef {"paper" | "blocked-goal" | "blocked-goal-2"} Rules the rule set of a game
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
 * @property {Rules} rules
 * @property {{move: string, sealed: string[]}[]} forbidden the moves that would seal cells of a goal
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
 * @typedef {{position: string, moves: string | undefined}} PlayedGame a position, and moves from there on
 *
 * @typedef {{name: string, about: string | null}} Player
 *
 * @typedef {object} Players what can play, and how strongly
 * @property {Player[]} players the players of Chinese Checkers
 * @property {number[]} levels the node expansions per move of the levels, from level 1
 * @property {Player[]} policies the policies of rulesheets
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
 * @property {Rules} [rules] `paper` by default
 * @property {string[]} [comments]
 * @property {RecordNode[]} game
 * @property {string} result
 *
 * @typedef {{nodes?: number, seconds?: number, depth?: number, playouts?: number}} Limits
 *
 * @typedef {{name: string, source: string, roles: string[], error: string | null}} Rulesheet
 * @typedef {{role: string, legal: string[], goal: number | null}} RulesheetRole
 *
 * @typedef {object} RulesheetState
 * @property {string[]} state the fluents
 * @property {boolean} terminal
 * @property {RulesheetRole[]} roles
 * @property {Record<string, string> | null} played the moves before the state, by role
 *
 * @typedef {object} Tournament
 * @property {string} name
 * @property {Record<string, unknown>} game the description of the game
 * @property {string[]} players
 * @property {number} games the games when all are played
 * @property {number} played
 *
 * @typedef {object} Score of a player, with its 95% interval
 * @property {number} games
 * @property {number} wins
 * @property {number} draws
 * @property {number} losses
 * @property {number} rate 0 to 1
 * @property {[number, number]} interval
 *
 * @typedef {object} Estimate of an Elo difference; null is an infinite one
 * @property {number | null} value
 * @property {[number | null, number | null]} interval
 *
 * @typedef {object} Entrant
 * @property {string} name
 * @property {Score | null} score
 * @property {Estimate | null} elo
 * @property {number | null} goal the mean goal
 * @property {Record<string, number>} faults
 *
 * @typedef {object} Sprt
 * @property {[number, number]} nelo
 * @property {number} pairs
 * @property {number} llr
 * @property {[number, number]} bounds
 * @property {"continue" | "H0" | "H1"} verdict
 *
 * @typedef {object} Pairing scores are those of `a`
 * @property {string} a
 * @property {string} b
 * @property {number} games
 * @property {Score | null} score
 * @property {Record<string, number>} ends
 * @property {Sprt} [sprt]
 *
 * @typedef {object} Round
 * @property {string} name
 * @property {Score | null} first the score of the player that moves first
 * @property {Entrant[]} entrants
 * @property {Pairing[]} pairings
 *
 * @typedef {{pairs: number, llr: number}} SprtPoint
 * @typedef {{round: number, pairing: number, points: SprtPoint[]}} SprtCurve
 * @typedef {Tournament & {rounds: Round[], curves: SprtCurve[]}} TournamentResults
 *
 * @typedef {object} GameFilter
 * @property {string} [player]
 * @property {string} [result]
 * @property {string} [end]
 * @property {number} [skip]
 * @property {number} [count]
 *
 * @typedef {object} GameRow
 * @property {number} number
 * @property {string} round
 * @property {string[]} players by role
 * @property {string} result
 * @property {string} end
 * @property {number} plies
 * @property {string | null} fault
 *
 * @typedef {GameRow & {record: GameRecord | null, moves: string[]}} TournamentGame
 */

export {};
