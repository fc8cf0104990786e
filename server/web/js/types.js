/**
 * The types of the JSON interface and of the page. This module has no code. `npm run types` in `server/web-tests` makes
 * the types of the interface from the OpenAPI document of the server.
 *
 * @import * as Interface from "../../web-tests/interface.js"
 *
 * @typedef {Interface.Side} Side
 * @typedef {Interface.Result} Result
 * @typedef {Interface.RuleSet} RuleSet
 * @typedef {Interface.Rules} Rules
 * @typedef {Interface.Distance} Distance
 * @typedef {Interface.MoveRow} MoveRow
 * @typedef {Interface.Position} Position
 * @typedef {Omit<Interface.State, "rank"> & {rank: number | bigint}} State
 * @typedef {Interface.Line} Line
 * @typedef {Interface.HeatCell} HeatCell
 * @typedef {Interface.Build} Build
 * @typedef {Interface.LiveGame} LiveGame
 * @typedef {Interface.Seat} Seat
 * @typedef {Interface.Access} Access
 * @typedef {Interface.Offer} Offer
 * @typedef {Interface.MarkLimits} MarkLimits
 * @typedef {Interface.Value} Value
 * @typedef {Interface.RecordLine} RecordLine
 * @typedef {Interface.Rulesheet} Rulesheet
 * @typedef {Interface.RulesheetDetails} RulesheetDetails
 * @typedef {Interface.RulesheetRole} RulesheetRole
 * @typedef {Interface.Finding} Finding
 * @typedef {Interface.RulesheetState} RulesheetState
 * @typedef {Interface.Tournament} Tournament
 * @typedef {Interface.SprtPoint} SprtPoint
 * @typedef {Interface.GameRow} GameRow
 * @typedef {Interface.Players} Players
 * @typedef {Interface.ErrorCode} ErrorCode
 * @typedef {Interface.Named} Player
 * @typedef {Interface.RecordMove} RecordNode
 * @typedef {Interface.TableInfo & Partial<Interface.Table>} TableInfo
 * @typedef {Interface.Info & Partial<Interface.Best>} Info the state of a search, at its end with the chosen move
 * @typedef {Interface.Record & Required<Pick<Interface.Record, "tags" | "result">>} GameRecord
 * @typedef {Omit<Interface.Game, "record"> & {record: GameRecord | null}} TournamentGame
 * @typedef {Omit<Interface.TournamentResults, "rounds"> & {rounds: Round[]}} TournamentResults
 *
 * @typedef {{position: string, moves: string | undefined}} PlayedGame a position, and moves from there on
 *
 * @typedef {{nodes?: number, seconds?: number, depth?: number, playouts?: number}} Limits
 *
 * @typedef {object} StateFacts facts about the states of tables, from the server or from the files of an explorer
 * @property {(table: string, state: string, player: Side, signal?: AbortSignal) => Promise<State>} state
 * @property {(table: string, state: string, player: Side, signal?: AbortSignal) => Promise<Line>} line
 * @property {(table: string, state: string, player: Side, piece: string, signal?: AbortSignal) => Promise<HeatCell[]>} heat
 * @property {(table: string, distance: number, player: Side, seed?: number) => Promise<{state: string}>} random a state
 *   at a distance
 *
 * @typedef {object} TablesApp a page with views of tables
 * @property {TableInfo[]} tables
 * @property {StateFacts} facts
 * @property {import("./build-card.js").Builds | null} builds null if the page cannot build tables
 * @property {import("./stage.js").Stage} stage
 * @property {() => void} update draws the view again
 * @property {(link: Record<string, string>) => void} visit
 * @property {(error: unknown) => void} fail shows an error
 * @property {() => void} share
 *
 * @typedef {object} GameFilter
 * @property {string} [player]
 * @property {string} [result]
 * @property {string} [end]
 * @property {number} [skip]
 * @property {number} [count]
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
 */

export {};
