/**
 * Trust: whose signatures count changes while two hosts append and a stranger forges. Every order of it is walked, with the
 * product's own judge and the product's own two steps of a change; what time does is not in it (ST1 of state.ts): a host that
 * has not heard of something may go on as long as nobody waits for it.
 *
 * Asked of every state: does each turn that a host acted on stand on the chain, as each document from then on judges it?
 */
import { headers } from "../../protocol/subjects.ts";
import { mayStillSign, type TrustDocument } from "../../protocol/trust.ts";
import { announce, type Change, settle } from "../../services/client/trust.ts";
import { standingOf } from "../../services/wire/standing.ts";
import { writeSignature } from "../../protocol/signing.ts";

/** Keys by the letter that they are made of; what is signed by "X" is signed wrongly by A. */
export type Key = "A" | "B" | "C" | "X" | "none";

export interface TrustWorld {
  readonly name: string;
  readonly change: Change;
  readonly document: TrustDocument;
  /** What each host signs with. */
  readonly hosts: readonly Key[];
  /** What the stranger's messages are signed with, each forged once. */
  readonly forged: readonly Key[];
  readonly turnsMax: number;
  readonly deaths: number;
}

/** The rules that one of may be broken. */
export interface TrustRules {
  /** It is settled only once every living host has said that it heard of it. */
  readonly waitsForAll: boolean;
  /** It is settled only while no living host signs what would not count. */
  readonly waitsForReady: boolean;
  /** It holds from where the ledger ends when it is settled, not from where it ended when it was announced. */
  readonly fromTheEnd: boolean;
  /** What is undecided is waited for. */
  readonly waits: boolean;
  /** Announced before it is settled. */
  readonly announces: boolean;
}

export const trustRules: TrustRules = {
  ...{ waitsForAll: true, waitsForReady: true, fromTheEnd: true, waits: true, announces: true },
};

interface Entry {
  readonly number: number;
  readonly prev: number;
  readonly key: Key;
}

interface Host {
  readonly alive: boolean;
  readonly knows: number;
  readonly told: number;
  readonly sent?: { readonly entry: Entry; readonly expects: number } | undefined;
}

interface State {
  readonly ledger: readonly Entry[];
  readonly documents: readonly TrustDocument[];
  readonly hosts: readonly Host[];
  /** Places of turns that a host acted on. */
  readonly acted: readonly number[];
  readonly forged: number;
  readonly deaths: number;
}

export const publicKey = (key: Key): string => (key === "X" ? "A" : key).repeat(56);

const fieldsOf = (key: Key): Record<string, string> =>
  key === "none"
    ? {}
    : { [headers.signature]: writeSignature({ key: publicKey(key), bytes: new Uint8Array(64) }) };

const wrong = Uint8Array.of(0);
const right = Uint8Array.of(1);

type Head =
  { readonly place: number; readonly number: number; readonly chain: readonly number[] } | "undecided";

/** The chain as one with this document reads it. Sequences are places from 1. */
function headOf(document: TrustDocument, ledger: readonly Entry[], { waits }: TrustRules): Head {
  let place = -1;
  let number = 0;
  const chain: number[] = [];
  for (const [at, { number: own, prev, key }] of ledger.entries()) {
    if (own !== number + 1 || prev !== place) continue;
    const message = {
      subject: "saga.a.ledger",
      seq: at + 1,
      data: key === "X" ? wrong : right,
      headers: fieldsOf(key),
    };
    const { kind } = standingOf(document, message, (_key, bytes) => bytes.at(-1) === 1);
    if (kind === "foreign") continue;
    if (kind !== "counts" && waits) return "undecided";
    [place, number] = [at, own];
    chain.push(at);
  }
  return { place, number, chain };
}

const last = <T>(all: readonly T[]): T => all.at(-1)!; // None is ever empty.
const put = (state: State, host: number, change: Partial<Host>): State => ({
  ...state,
  hosts: state.hosts.map((one, at) => (at === host ? { ...one, ...change } : one)),
});

function* hostSteps(world: TrustWorld, rules: TrustRules, state: State): Generator<[string, State]> {
  for (const [at, host] of state.hosts.entries()) {
    const name = `host ${at}`;
    const document = state.documents[host.knows]!;
    const { sent } = host;
    if (sent !== undefined) {
      const isStored = state.ledger.length === sent.expects;
      const left = put(state, at, { sent: undefined });
      const ledger = isStored ? [...state.ledger, sent.entry] : state.ledger;
      const acted = isStored && host.alive ? [...state.acted, state.ledger.length] : state.acted;
      yield [
        `${name}'s turn ${sent.entry.number} is ${isStored ? "stored" : "refused"}`,
        { ...left, ledger, acted },
      ];
    }
    if (!host.alive) continue;
    const newest = state.documents.length - 1;
    if (host.knows < newest) yield [`${name} reads document ${newest}`, put(state, at, { knows: newest })];
    if (host.told < host.knows) yield [`${name} says so`, put(state, at, { told: host.knows })];
    if (state.deaths < world.deaths)
      yield [`${name} dies`, { ...put(state, at, { alive: false }), deaths: state.deaths + 1 }];
    const key = world.hosts[at]!;
    const mayAppend = document.required === undefined || mayStillSign(document, publicKey(key));
    const head = headOf(document, state.ledger, rules);
    if (sent !== undefined || !mayAppend || head === "undecided" || head.number >= world.turnsMax) continue;
    const entry: Entry = { number: head.number + 1, prev: head.place, key };
    yield [
      `${name} sends turn ${entry.number}`,
      put(state, at, { sent: { entry, expects: state.ledger.length } }),
    ];
  }
}

function* otherSteps(world: TrustWorld, rules: TrustRules, state: State): Generator<[string, State]> {
  const document = last(state.documents);
  const key = world.forged[state.forged];
  // The stranger imitates the next turn of any chain that somebody may see.
  if (key !== undefined)
    for (const [at, one] of state.documents.entries()) {
      const head = headOf(one, state.ledger, rules);
      if (head === "undecided") continue;
      const entry: Entry = { number: head.number + 1, prev: head.place, key };
      yield [
        `turn ${entry.number} is forged after what document ${at} says`,
        { ...state, ledger: [...state.ledger, entry], forged: state.forged + 1 },
      ];
    }
  const { change } = world;
  const place = state.ledger.length;
  const said = { place, by: "operator", at: 0 };
  const isAnnounced = state.documents.length > 1 || !rules.announces;
  if (!isAnnounced)
    yield [
      "it is announced",
      { ...state, documents: [...state.documents, announce(document, change, said)] },
    ];
  if (!isAnnounced || state.documents.length > (rules.announces ? 2 : 1)) return;
  const living = state.hosts.flatMap((host, at) =>
    host.alive ? [{ ...host, key: publicKey(world.hosts[at]!) }] : [],
  );
  const isVain = (own: string) =>
    change.type === "require" ? !mayStillSign(document, own) : own === change.key;
  if (rules.waitsForAll && living.some(({ told }) => told < state.documents.length - 1)) return;
  if (rules.waitsForReady && living.some((host) => isVain(host.key))) return;
  const to = settle(rules.announces ? document : announce(document, change, said), change, {
    ...said,
    place: rules.fromTheEnd ? place : 0,
  });
  yield ["it is settled", { ...state, documents: [...state.documents, to] }];
}

/** A turn that a host acted on, and that is none by the newest document; undefined where all stand. */
function lieOf(rules: TrustRules, state: State): string | undefined {
  const head = headOf(last(state.documents), state.ledger, { ...rules, waits: true });
  if (head === "undecided") return undefined;
  const lost = state.acted.find((place) => !head.chain.includes(place));
  return lost === undefined ? undefined : `a host acted on message ${lost + 1}, which is no turn`;
}

export interface TrustFound {
  readonly states: number;
  /** States in which the change is settled. */
  readonly settled: number;
  readonly broken?: string;
  readonly trace: readonly string[];
}

/** Walks all of it, breadth first. */
export function walkTrust(world: TrustWorld, rules: TrustRules = trustRules): TrustFound {
  const first: State = {
    ...{ ledger: [], documents: [world.document], acted: [], forged: 0, deaths: 0 },
    hosts: world.hosts.map(() => ({ alive: true, knows: 0, told: 0 })),
  };
  const seen = new Map<string, { readonly from: string | undefined; readonly say: string }>();
  seen.set(JSON.stringify(first), { from: undefined, say: "" });
  let settled = 0;
  for (let level = [first]; level.length > 0;) {
    const next: State[] = [];
    for (const state of level) {
      const from = JSON.stringify(state);
      for (const [say, to] of [...hostSteps(world, rules, state), ...otherSteps(world, rules, state)]) {
        const id = JSON.stringify(to);
        if (seen.has(id)) continue;
        seen.set(id, { from, say });
        if (to.documents.length > 2) settled += 1;
        const broken = lieOf(rules, to);
        if (broken !== undefined) return { states: seen.size, settled, broken, trace: traceTo(seen, id) };
        next.push(to);
      }
    }
    level = next;
  }
  return { states: seen.size, settled, trace: [] };
}

function traceTo(seen: ReadonlyMap<string, { from: string | undefined; say: string }>, id: string): string[] {
  const step = seen.get(id);
  return step?.from === undefined ? [] : [...traceTo(seen, step.from), step.say];
}

const said = { by: "operator", at: 0 };
const key = (name: string) => ({ name, ...said });
const both = { [publicKey("A")]: key("a"), [publicKey("B")]: key("b") };
const always = { announced: 0, after: 0, ...said };

export const trustWorlds: readonly TrustWorld[] = [
  {
    ...{ name: "from now on turns must be signed", change: { type: "require" }, turnsMax: 2, deaths: 0 },
    ...{ document: { v: 1, keys: both }, hosts: ["A", "B"], forged: ["none"] },
  },
  {
    ...{ name: "one host does not sign, and may die", change: { type: "require" }, turnsMax: 2, deaths: 1 },
    ...{ document: { v: 1, keys: both }, hosts: ["A", "none"], forged: ["none"] },
  },
  {
    ...{ name: "a wrong signature", change: { type: "require" }, turnsMax: 2, deaths: 0 },
    ...{ document: { v: 1, keys: both }, hosts: ["A", "B"], forged: ["X"] },
  },
  {
    ...{
      name: "a stolen key is withdrawn",
      change: { type: "withdraw", key: publicKey("B") },
      turnsMax: 1,
      deaths: 1,
    },
    ...{ document: { v: 1, keys: both, required: always }, hosts: ["A", "B"], forged: ["B"] },
  },
  {
    ...{
      name: "a key that nobody named",
      change: { type: "withdraw", key: publicKey("C") },
      turnsMax: 2,
      deaths: 0,
    },
    ...{ document: { v: 1, keys: both, required: always }, hosts: ["A", "B"], forged: ["C"] },
  },
];
