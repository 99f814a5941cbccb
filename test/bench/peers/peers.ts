/**
 * Peers: the same work on sagamesh and on other products that make programs durable, on this machine.
 *
 * Method: for each case and round the peers take turns, in an order that rotates; each time its servers, its app and its
 * client are started anew on empty folders, run some sagas unmeasured, do the case, and are gone before the next one begins,
 * so that nothing idles beside what is measured. The ratio to sagamesh is taken round by round, and its median and extremes
 * are shown: absolute figures change with whatever else the machine does, ratios much less. A case that a peer does not end
 * within four minutes is said to have taken longer, and is not tried on it again.
 *
 * It does not measure: several apps or servers, a network, real effects or models.
 */
import { loadavg } from "node:os";
import { describeError } from "../../../protocol/errors.ts";
import type { Sync } from "../bench-mesh.ts";
import { median, type Report, rounded, spread } from "../figures.ts";
import { dbos } from "./adapters/dbos.ts";
import { langgraphPostgres, langgraphSqlite } from "./adapters/langgraph.ts";
import { restate } from "./adapters/restate.ts";
import { sagamesh } from "./adapters/sagamesh.ts";
import { temporal } from "./adapters/temporal.ts";
import { type Case, cases, type Figures, quickSizes, type Sizes, warm, wholeSizes } from "./cases.ts";
import { type Installed, installPeer } from "./install.ts";
import type { CaseName, Peer } from "./peer.ts";
import { endWhenAsked, TooSlow } from "./processes.ts";
import { withSession } from "./session.ts";

export const allPeers: readonly Peer[] = [
  sagamesh,
  restate,
  dbos,
  langgraphSqlite,
  langgraphPostgres,
  temporal,
];

export interface PeersOptions {
  readonly rounds: number;
  readonly syncs: readonly Sync[];
  /** Names of peers beside sagamesh; all unless given. */
  readonly only?: readonly string[];
  readonly cases: readonly CaseName[];
  readonly isQuick: boolean;
}

export interface Setting {
  readonly name: CaseName;
  readonly sync: Sync;
  readonly rounds: number;
  readonly sizes: Sizes;
}

/** What each peer was found to do, a figure a round, or why it did not. */
export type Found = ReadonlyMap<Peer, readonly Figures[] | string>;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

export async function measurePeers(options: PeersOptions): Promise<Report[]> {
  endWhenAsked();
  const peers = allPeers.filter(
    ({ name }) => name === sagamesh.name || (options.only?.includes(name) ?? true),
  );
  const installed = new Map<Peer, Installed>();
  for (const peer of peers) {
    const got = await installPeer(peer, say).catch((error: unknown) =>
      say(`${peer.name} is left out: ${describeError(error)}`),
    );
    if (got) installed.set(peer, got);
  }
  if (!installed.has(sagamesh)) throw new Error("sagamesh itself could not be built; see above");
  const sizes = options.isQuick ? quickSizes : wholeSizes;
  const reports: Report[] = [];
  for (const name of options.cases)
    for (const sync of cases[name].isOnlySynced ? (["always"] as const) : options.syncs) {
      const setting = { name, sync, rounds: options.rounds, sizes };
      reports.push(reportOf(setting, await measureCase(setting, installed)));
    }
  return [...reports, aboutPeers(installed)];
}

async function measureCase(setting: Setting, installed: ReadonlyMap<Peer, Installed>): Promise<Found> {
  const { name, sync, sizes } = setting;
  const rounds = Math.min(setting.rounds, cases[name].roundsMax ?? setting.rounds);
  const found = new Map<Peer, Figures[] | string>();
  const peers = [...installed.keys()];
  for (let round = 0; round < rounds; round++)
    for (let turn = 0; turn < peers.length; turn++) {
      const peer = peers[(turn + round) % peers.length]!;
      const before = found.get(peer) ?? [];
      if (typeof before === "string" || before.length >= (peer.fewer?.rounds ?? rounds)) continue;
      if (peer.cannot[name] !== undefined) {
        found.set(peer, peer.cannot[name]);
        continue;
      }
      const began = performance.now();
      const { folder } = installed.get(peer)!;
      const outcome = await withSession({ peer, folder, sync }, async (session) => {
        await warm(session, { ...sizes, ...peer.fewer }, cases[name]);
        return cases[name].run(session, { ...sizes, ...peer.fewer });
      }).catch(failureOf);
      found.set(peer, typeof outcome === "string" ? outcome : [...before, outcome]);
      const seconds = ((performance.now() - began) / 1_000).toFixed(1);
      const said = typeof outcome === "string" ? outcome : summaryOf(outcome);
      say(`${name}, sync ${sync}, round ${round + 1} of ${rounds}, ${peer.name}: ${said} (${seconds} s)`);
    }
  return found;
}

/** What the table says of a peer that did not do it; all of it goes to the progress. */
function failureOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  say(message);
  const [first = ""] = message.split("\n");
  return error instanceof TooSlow ? first : `failed: ${first}`;
}

const summaryOf = (figures: Figures): string =>
  Object.entries(figures)
    .map(([row, columns]) =>
      [row, ...Object.entries(columns).map(([column, value]) => `${column} ${rounded(value)}`)]
        .filter(Boolean)
        .join(", "),
    )
    .join("; ");

export function reportOf({ name, sync }: Setting, found: Found): Report {
  const { title, by } = cases[name];
  const own = found.get(sagamesh);
  const rows: Record<string, string | number>[] = [];
  for (const [peer, figures] of found)
    if (typeof figures === "string") rows.push({ peer: peer.name, "of sagamesh's": figures });
    else rows.push(...rowsOf(peer, figures, typeof own === "string" ? [] : (own ?? []), cases[name]));
  const notes = [
    `medians of rounds; of sagamesh's: ${by} as a multiple of sagamesh's, round by round (least to most)`,
    `(load average of its last five minutes ${rounded(loadavg()[1]!)}, which what is measured is part of)`,
  ];
  return { title: `${title}; ${sync === "always" ? "synced" : "not synced"}`, rows, notes };
}

function rowsOf(peer: Peer, figures: readonly Figures[], own: readonly Figures[], { by }: Case) {
  const names = Object.keys(figures[0] ?? {});
  return names.map((row) => {
    const columns = Object.keys(figures[0]?.[row] ?? {});
    const ratios = figures.flatMap((one, round) => {
      const ours = own[round]?.[row]?.[by];
      return ours === undefined ? [] : [one[row]![by]! / ours];
    });
    return {
      peer: peer.name,
      ...(row !== "" && { of: row }),
      rounds: figures.length,
      "of sagamesh's": peer === sagamesh ? "1" : ratios.length > 0 ? spread(ratios) : "–",
      ...Object.fromEntries(
        columns.map((column) => [column, rounded(median(figures.map((one) => one[row]![column]!)))]),
      ),
    };
  });
}

const aboutPeers = (installed: ReadonlyMap<Peer, Installed>): Report => ({
  title: "What was measured",
  rows: [...installed].map(([{ name, about, durability }, { versions }]) => ({
    peer: name,
    versions,
    "set up": about,
    synced: durability.always,
    "not synced": durability.default,
  })),
  notes: [],
});
