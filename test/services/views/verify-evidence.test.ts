/**
 * Goal: a ledger whose last turns were taken away is never called whole without a word: either something beside it names what is
 * missing, or it is said how the saga stands and how far that can be known; and a whole ledger has nothing against it.
 * Method: an example runs on the mesh in memory, and its ledger is verified without its last turn, against what is beside it.
 * verify-cuts.e2e.test.ts does it with every cut of every example.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { chainHash } from "../../../protocol/digest.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { expectedOf, keptIn } from "../../../services/cli/commands/expecting.ts";
import { tellVerified } from "../../../services/cli/telling/verified.ts";
import { loadWhole } from "../../../services/host/load.ts";
import { silentLog } from "../../../services/process/log.ts";
import { writeSnapshot } from "../../../services/host/snapshots.ts";
import { besideSaga } from "../../../services/runtime/evidence.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import {
  createStand,
  type Evidence,
  heldAgainst,
  type Stand,
} from "../../../services/views/verify-evidence.ts";
import { leftBy } from "../../support/left-behind.ts";
import { examples } from "../../support/recorded-runs.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("verify, of a ledger without its last turn,", () => {
  const cutBy = async (count: number, kept: readonly string[] = [], isSnapshotted = false) => {
    const example = examples.find(({ name }) => name === "weekend")!;
    const { app, ports, deps, until, sagas } = await leftBy(example, 3);
    const [saga] = sagas;
    const stored = await until(ports.ledger.last(saga!));
    if (isSnapshotted) {
      const { definition, state, head } = await until(
        loadWhole({ ...deps, log: silentLog }, app, saga!, stored!.seq),
      );
      await until(writeSnapshot(deps, definition, state, head));
    }
    const messages = await until(ports.ledger.read(saga!, 0, stored!.seq));
    const left = messages.slice(0, messages.length - count);
    const ledger = { ...ports.ledger, last: async () => left.at(-1), read: async () => left };
    const expected = await expectedOf(kept, saga);
    const document = await until(
      verifyLedger({ ...ports, ledger }, saga!, undefined, {
        evidence: async (stand) => {
          const beside = await besideSaga(deps, stand);
          const own = keptIn(expected, stand.saga);
          return {
            compared: [...own.compared, ...beside.compared],
            mentions: [...own.mentions, ...beside.mentions],
          };
        },
      }),
    );
    const lines: string[] = [];
    const output = {
      json: false,
      note: () => undefined,
      print: (_: unknown, text: () => string) => void lines.push(text()),
    };
    const told = tellVerified(output as never, { isMany: false, heads: false });
    told.tell(document);
    return { saga: saga!, document, said: lines.join("\n"), exit: told.end(), messages };
  };

  test("says that the saga has not ended, what is open and since when, and what it looked at", async () => {
    const whole = await cutBy(0);
    expect(whole.said).toMatch(/ended in turn \d+: /);
    const { said, exit, document } = await cutBy(1);
    expect(said).toMatch(/not ended: \d+-\d+ \(tool \w+\) is open since 2026-/);
    expect(said).toMatch(/none is named by .*its snapshot|none is named by .*the ids of all sagas/);
    expect(said).toContain(`last turn ${document.turns}:`);
    expect(exit).toBe(0); // Nothing tells that this was not all.
  });

  test("names the turn that its snapshot is of", async () => {
    const { said, exit, messages } = await cutBy(1, [], true);
    expect(said).toContain(`turn ${messages.length}: [LEDGER_SHORT] it is missing: its snapshot names it`);
    expect(exit).toBe(1);
    expect((await cutBy(0, [], true)).said).toContain(
      `none is named by its snapshot of turn ${messages.length}`,
    );
  });

  test("names the turn that is missing where it was kept, and a turn that is another", async () => {
    const { document, messages } = await cutBy(0);
    const last = document.last!;
    expect(last).toBe(`${messages.length}:${chainHash(messages.at(-1)!.data)}`);
    expect((await cutBy(0, [last])).exit).toBe(0);
    const { said, exit } = await cutBy(1, [last]);
    expect(said).toMatch(
      new RegExp(`turn ${messages.length}: \\[LEDGER_SHORT\\] it is missing: --expect names it`),
    );
    expect(exit).toBe(1);
    const other = `2:${chainHash(messages[2]!.data)}`;
    expect((await cutBy(0, [other])).said).toMatch(/turn 2: \[LEDGER_BROKEN\] --expect has it as/);
  });
});

test("a parent's ledger is compared with also where its last message is no turn", async () => {
  let compared: readonly string[] = [];
  for (const example of examples) {
    const { ports, deps, until, sagas } = await leftBy(example, 3);
    for (const saga of sagas) {
      const evidence = async (stand: Stand): Promise<Evidence> => {
        const { parent } = stand;
        if (parent === undefined) return { compared: [], mentions: [] };
        const last = (await ports.ledger.last(parent.saga))!;
        const junk = { ...last, seq: last.seq + 1_000, headers: {}, data: Buffer.from("junk") };
        const ledger = {
          ...ports.ledger,
          last: async () => Promise.resolve(junk),
          read: async () => [...(await ports.ledger.read(parent.saga, 0, last.seq)), junk],
        };
        return besideSaga({ ...deps, ports: { ...deps.ports, ledger } }, stand);
      };
      const document = await until(verifyLedger(ports, saga, undefined, { evidence }));
      compared = [...compared, ...(document.compared ?? [])];
    }
    if (compared.length > 0) break;
  }
  expect(compared.join()).toContain("the ledger of its parent");
});

describe("what was kept", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "expect-"));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const hash = chainHash(Buffer.from("x"));

  test("of many sagas is a file of lines", async () => {
    const file = join(folder, "heads.txt");
    await writeFile(file, `# kept on Monday\nana-1 13:${hash}\n\nbo-2 7:${hash}\n`);
    const expected = await expectedOf([file], undefined);
    expect([...expected]).toEqual([
      ["ana-1", { turn: 13, hash }],
      ["bo-2", { turn: 7, hash }],
    ]);
    await writeFile(file, `ana-1 thirteen:${hash}\n`);
    await expect(expectedOf([file], undefined)).rejects.toThrow(/\[USAGE\].*line 1/);
    await expect(expectedOf([join(folder, "none")], undefined)).rejects.toThrow("[FILE_UNREADABLE]");
  });

  test("of one saga is a word, which says nothing of many", async () => {
    expect([...(await expectedOf([`13:${hash}`], "ana-1"))]).toEqual([["ana-1", { turn: 13, hash }]]);
    await expect(expectedOf([`13:${hash}`], undefined)).rejects.toThrow("[USAGE]");
  });
});

test("evidence about another saga's end, or of a child that never began, is none", () => {
  const saga = parseSagaId("a-1");
  const stand = { ...createStand(saga).stand(), turns: 1, hashes: ["h"] };
  const mention = { where: "its parent b-1", ends: { heard: 1, by: parseSagaId("b-1") } };
  expect(heldAgainst(stand, { mentions: [mention] })).toEqual([]);
});
