/**
 * Evidence: what a run leaves behind, from every side that kept an account of its own. Gathered once, then judged.
 */
import { join } from "node:path";
import type { SagaId } from "../../protocol/ids.ts";
import { chainOf, emptyHead } from "../../services/ledger/chain.ts";
import { type StoredTurn, turnsOf } from "../../services/ledger/reader.ts";
import type { LedgerSource } from "../../services/ledger/reader.ts";
import { follow } from "../../services/nats/follow.ts";
import type { StoredMessage } from "../../services/wire/ports.ts";
import type { StoredInput } from "../simulation/account.ts";
import type { Act, Asked } from "../simulation/world.ts";
import { attackHeader, type Struck } from "./attack.ts";
import type { Beat } from "./beats.ts";
import type { Standstill } from "./crew.ts";
import type { Strike } from "./disturber.ts";
import type { Linearity } from "./linear/judge.ts";
import { readLines } from "./lines.ts";
import { auditStream, type Servers } from "./servers.ts";
import type { Acked } from "./speaking.ts";
import type { Seen } from "./witness.ts";

export interface Evidence {
  readonly seed: number;
  /** Every saga that a client started. */
  readonly started: readonly SagaId[];
  /** Stored turns as they are, of every saga that has any. */
  readonly messages: ReadonlyMap<SagaId, readonly StoredMessage[]>;
  readonly ledgers: ReadonlyMap<SagaId, readonly StoredTurn[]>;
  /** Where what is too large for a turn is. */
  readonly blobs: LedgerSource["blobs"];
  /** Ledgers that could not be read as a chain. */
  readonly broken: ReadonlyMap<SagaId, string>;
  /** Turns as the witness saw them appear. */
  readonly seen: readonly Seen[];
  /** Acked to clients and people, or stored by the server's own account. */
  readonly inputs: readonly StoredInput[];
  readonly dead: readonly StoredMessage[];
  /** Inputs and letters of attackers; those of everybody else are above. */
  readonly attacked: { readonly inputs: readonly StoredInput[]; readonly dead: readonly StoredMessage[] };
  readonly struck: readonly Struck[];
  readonly acts: readonly Act[];
  readonly asked: readonly Asked[];
  readonly standstills: readonly Standstill[];
  readonly strikes: readonly Strike[];
  /** What was still going on when the time was over; empty if all came to rest. */
  readonly busy: readonly string[];
  /** What was held although everything waited. */
  readonly holdings: readonly string[];
  /** Who ended by itself. */
  readonly ended: readonly string[];
  readonly mistakes: readonly string[];
  /** What porcupine says of the histories, or why it was not asked. */
  readonly linearity: Linearity | { readonly missing: string };
  /** How long event loops were held, by process. */
  readonly beats: ReadonlyMap<string, readonly Beat[]>;
}

/** By the header that attackers write beside what they send. */
export const isAttackers = ({ headers }: Pick<StoredMessage, "headers">): boolean =>
  headers[attackHeader] !== undefined;

/** Parts those of attackers from all others. */
export const parted = <T extends Pick<StoredMessage, "headers">>(
  list: readonly T[],
): { own: T[]; attacked: T[] } => ({
  own: list.filter((one) => !isAttackers(one)),
  attacked: list.filter(isAttackers),
});

/** All ledgers, as messages and as turns. */
export async function readLedgers({
  ports,
}: Servers): Promise<Pick<Evidence, "messages" | "ledgers" | "broken" | "blobs">> {
  const messages = new Map<SagaId, readonly StoredMessage[]>();
  const ledgers = new Map<SagaId, StoredTurn[]>();
  const broken = new Map<SagaId, string>();
  for (const { saga } of await ports.ledger.list()) {
    const last = await ports.ledger.last(saga);
    const stored = await ports.ledger.read(saga, 0, last?.seq ?? 0);
    messages.set(saga, stored);
    ledgers.set(saga, []);
    try {
      const { links, foreign } = chainOf(saga, emptyHead, stored);
      ledgers.set(saga, await turnsOf(ports, links));
      const ours = foreign.find(({ message }) => !isAttackers(message));
      if (ours !== undefined) broken.set(saga, `${ours.message.seq} is no turn, and no attacker's`);
    } catch (error) {
      broken.set(saga, String(error));
    }
  }
  return { messages, ledgers, broken, blobs: ports.blobs };
}

/** What was acked to those who speak from outside, and what the server says it stored. Each input once. */
export async function readInputs(folder: string, servers: Servers): Promise<StoredInput[]> {
  const inputs = new Map<number, StoredInput>();
  for (const name of ["acked-clients", "acked-outside"])
    for (const { subject, seq, headers, msgId, body } of readLines<Acked>(join(folder, `${name}.jsonl`)))
      inputs.set(seq, { subject, seq, headers, msgId, data: Buffer.from(body) });
  for await (const { headers, data } of readAudit(servers)) {
    const subject = headers["Nats-Subject"] ?? "";
    const seq = Number(headers["Nats-Sequence"]);
    if (subject.startsWith("inbox."))
      inputs.set(seq, { subject, seq, headers, msgId: headers["Nats-Msg-Id"], data });
  }
  return [...inputs.values()].sort((a, b) => a.seq - b.seq);
}

async function* readAudit({ nc, jsm }: Servers): AsyncGenerator<StoredMessage> {
  const { state } = await jsm.streams.info(auditStream);
  if (state.messages === 0) return;
  const over = new AbortController();
  const options = { stream: auditStream, subject: "audit.>", afterSeq: 0, signal: over.signal };
  try {
    for await (const message of follow({ nc, jsm }, options)) {
      yield message;
      if (message.seq >= state.last_seq) return;
    }
  } finally {
    over.abort();
  }
}

/** What a body threw: those of a run are told to. */
const toolFailed = "tool failed";

/** What stood in the logs of hosts and workers and is no error of the mesh's own. */
export function readMistakes(logs: readonly string[]): string[] {
  const mistakes = new Map<string, string>();
  for (const log of logs)
    for (const line of log.split("\n")) {
      if (!line.startsWith("{")) {
        if (/^\s*(at |[A-Z]\w*Error\b)/.test(line)) mistakes.set(line, line);
        continue;
      }
      const { level, msg, err } = readLog(line);
      if (msg === toolFailed) continue;
      const isOwn = err === undefined || (err.type === "MeshError" && err.code !== "INTERNAL");
      if (level === "error" || level === "fatal" || !isOwn)
        mistakes.set(`${msg} ${err?.message ?? ""}`, line);
    }
  return [...mistakes.values()].map((line) => line.slice(0, 600));
}

interface LogLine {
  readonly level?: string;
  readonly msg?: string;
  readonly err?: { readonly type?: string; readonly code?: string; readonly message?: string };
}

function readLog(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine; // pino's own lines; who is killed may leave half of one.
  } catch {
    return {};
  }
}
