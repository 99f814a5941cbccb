/**
 * The judge accepts what honest ports did under faults, and rejects each of the ways to be dishonest: so a run that it
 * finds nothing in has shown something.
 *
 * Three processes of a memory mesh contend for a few ledgers, claims and entries, and lose requests and answers; what
 * they did is written down as in a chaos run. Skipped, with a word, where the judge cannot be had.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseSagaId, type SagaId } from "../../../protocol/ids.ts";
import { isMeshError } from "../../../protocol/errors.ts";
import { rough, type SeededChance } from "../../../services/memory/faults.ts";
import { createMemoryMesh, type MemoryProcess } from "../../../services/memory/mesh.ts";
import type { Ports, StoredMessage } from "../../../services/wire/ports.ts";
import { noteEnd } from "./end.ts";
import { openHistory } from "./history.ts";
import { findJudge, judgeHistories, type Linearity } from "./judge.ts";
import { recordedPorts } from "./record.ts";

const judge = await findJudge();
if ("missing" in judge) console.warn(`histories are not judged: ${judge.missing}`);

const sagas = ["one", "two"].map(parseSagaId);
const rounds = 25;
/** What a process does to ports before anybody uses them. */
type Spoiling = (ports: Ports, name: string) => Ports;
const honest: Spoiling = (ports) => ports;

/** Contends, and gives the verdict; `change` may change what was written down. */
async function contend(
  seed: number,
  spoil: Spoiling = honest,
  change: (lines: Line[]) => Line[] = (lines) => lines,
): Promise<Linearity> {
  const folder = mkdtempSync(join(tmpdir(), "sagamesh-linear-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const mesh = createMemoryMesh({ seed, faults: { ...rough, cutRate: 0, pauseRate: 0 }, replicas: 3 });
  const names = ["ann", "bob", "cid"];
  const work = names.map(async (name) => {
    const process = mesh.spawn(name);
    const path = join(folder, `history-${name}.jsonl`);
    const history = openHistory(path, name);
    await contender(process, recordedPorts(spoil(process.ports, name), history), mesh.chance.fork(name));
    history.close();
    writeLines(path, change(readLines(path)));
  });
  await mesh.clock.until(Promise.all(work));
  await mesh.clock.advance(rough.until); // The last reads are of a mesh that is whole again.
  const { ledger } = mesh.spawn("end").ports;
  const messages = new Map<SagaId, StoredMessage[]>();
  for (const saga of sagas)
    messages.set(saga, await mesh.clock.until(ledger.read(saga, 0, Number.MAX_SAFE_INTEGER)));
  await noteEnd(folder, { messages, ledgers: new Map(), dead: [] });
  return (await judgeHistories(folder)) as Linearity; // Proof: the test is skipped where there is none.
}

async function contender({ clock, chance: own }: MemoryProcess, ports: Ports, chance: SeededChance) {
  const saga = () => chance.pick(sagas);
  for (let n = 0; n < rounds; n++) {
    await clock.sleep(chance.between(0, 20));
    const text = own.nonce();
    const data = Buffer.from(text);
    await (async () => {
      switch (chance.pick(["append", "claim", "entry"] as const)) {
        case "append": {
          const id = saga();
          const expectedSeq = (await ports.ledger.last(id))?.seq ?? 0;
          return ports.ledger.append(id, { data, headers: {}, expectedSeq });
        }
        case "claim":
          return ports.claims.create(`key-${chance.between(0, 5)}`, 1, text);
        case "entry":
          return ports.throttles.write(
            "model.m",
            data,
            (await ports.throttles.read("model.m"))?.revision ?? 0,
          );
      }
    })().catch((error: unknown) => {
      if (!isMeshError(error)) throw error; // Refused, or not answered.
    });
  }
}

interface Line {
  readonly id: string;
  readonly at: number;
  readonly call?: { readonly object: string; readonly do: string };
  readonly answer?: { readonly outcome: string; readonly seq?: number };
}

const readLines = (path: string): Line[] =>
  readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
const writeLines = (path: string, lines: readonly Line[]) =>
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));

/** The answers of a process's acked appends, the wrong way round. */
function reordered(lines: Line[]): Line[] {
  const appends = new Set(lines.filter(({ call }) => call?.object === "ledger").map(({ id }) => id));
  const acked = lines.filter(({ id, answer }) => appends.has(id) && answer?.outcome === "done");
  const backwards = acked.map(({ answer }) => answer).reverse();
  return lines.map((line) => (acked.includes(line) ? { ...line, answer: backwards.shift()! } : line));
}

const dishonest: readonly { name: string; spoil?: Spoiling; change?: (lines: Line[]) => Line[] }[] = [
  {
    name: "a ledger that takes every append, whatever it expects",
    spoil: (ports) => ({
      ...ports,
      ledger: {
        ...ports.ledger,
        append: async (saga, message) =>
          ports.ledger.append(saga, { ...message, expectedSeq: (await ports.ledger.last(saga))?.seq ?? 0 }),
      },
    }),
  },
  {
    name: "a ledger that loses what it acked",
    spoil: (ports, name) => ({
      ...ports,
      ledger: {
        ...ports.ledger,
        append: async (saga, message) =>
          name === "bob"
            ? { seq: message.expectedSeq + 1_000_000, duplicate: false }
            : ports.ledger.append(saga, message),
      },
    }),
  },
  { name: "a recorder that takes two appends for one another", change: reordered },
  {
    name: "a claim that two hold",
    spoil: (ports) => ({ ...ports, claims: { ...ports.claims, create: async () => ({ won: true }) } }),
  },
  {
    name: "an entry that is overwritten unread",
    spoil: (ports) => ({
      ...ports,
      throttles: {
        ...ports.throttles,
        write: async (key, data) =>
          ports.throttles.write(key, data, (await ports.throttles.read(key))?.revision ?? 0),
      },
    }),
  },
];

describe.skipIf("missing" in judge)("linear", () => {
  test("what three did under faults is linearizable, over forty seeds", { timeout: 120_000 }, async () => {
    let operations = 0;
    let unknown = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const verdict = await contend(seed);
      expect(verdict).toMatchObject({ broken: [], undecided: [] });
      operations += Object.values(verdict.operations).reduce((sum, n) => sum + n, 0);
      unknown += verdict.unknown;
    }
    expect(operations).toBeGreaterThan(3_000);
    expect(unknown).toBeGreaterThan(50); // Else the models of what nobody was told of are not tried.
  });

  test.each(dishonest)("$name is rejected", async ({ spoil, change }) => {
    const verdicts = [];
    for (let seed = 1; seed <= 5; seed++) verdicts.push(await contend(seed, spoil, change));
    expect(verdicts.flatMap(({ broken }) => broken).length).toBeGreaterThan(0);
  });
});
