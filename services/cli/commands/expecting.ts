/**
 * Expecting: what was kept of ledgers by those who verify them again: the number and the hash of a turn.
 */
import { readFile } from "node:fs/promises";
import { describeError, MeshError } from "../../../protocol/errors.ts";
import { SagaId } from "../../../protocol/ids.ts";
import type { Evidence, Mention } from "../../views/verify-evidence.ts";

/** A turn that there must be, by saga. */
export type Expected = ReadonlyMap<SagaId, Pick<Mention, "turn" | "hash">>;

const kept = /^([1-9]\d{0,9}):([\w-]{43,64})$/;

/**
 * Reads the words of --expect: `TURN:HASH` of the one saga that is verified, or files of lines `SAGA TURN:HASH`, of which those
 * that are empty or begin with # say nothing. Throws USAGE, FILE_UNREADABLE.
 */
export async function expectedOf(words: readonly string[] = [], saga: string | undefined): Promise<Expected> {
  const expected = new Map<SagaId, Pick<Mention, "turn" | "hash">>();
  for (const word of words) {
    const own = keptTurn(word);
    if (own === undefined) for (const [id, turn] of await linesIn(word)) expected.set(id, turn);
    else expected.set(sagaFor(word, saga), own);
  }
  return expected;
}

function sagaFor(word: string, saga: string | undefined): SagaId {
  const id = SagaId.safeParse(saga);
  if (id.success) return id.data;
  throw new MeshError("USAGE", `--expect ${word}: it is not said of which saga`, {
    remedy: "Verify one saga by its id, or give a file of lines SAGA TURN:HASH.",
  });
}

function keptTurn(word: string): Pick<Mention, "turn" | "hash"> | undefined {
  const [, turn, hash] = kept.exec(word) ?? [];
  return turn === undefined || hash === undefined ? undefined : { turn: Number(turn), hash };
}

async function linesIn(file: string): Promise<[SagaId, Pick<Mention, "turn" | "hash">][]> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new MeshError("FILE_UNREADABLE", `--expect ${file}: ${describeError(error)}`, {
      cause: error,
      remedy: "It is TURN:HASH as `sagamesh verify SAGA` prints it, or a file of lines SAGA TURN:HASH.",
    });
  });
  return text.split("\n").flatMap((line, index): [SagaId, Pick<Mention, "turn" | "hash">][] => {
    const [saga = "", word = "", ...more] = line.trim().split(/\s+/);
    if (saga === "" || saga.startsWith("#")) return [];
    const id = SagaId.safeParse(saga);
    const turn = more.length === 0 ? keptTurn(word) : undefined;
    if (id.success && turn !== undefined) return [[id.data, turn]];
    throw new MeshError("USAGE", `--expect ${file}: line ${index + 1} is not SAGA TURN:HASH`);
  });
}

/** What was kept of one saga, as evidence. */
export function keptIn(expected: Expected, saga: SagaId): Evidence {
  const turn = expected.get(saga);
  return turn === undefined
    ? { compared: [], mentions: [] }
    : { compared: [`turn ${turn.turn} as it was kept`], mentions: [{ where: "--expect", ...turn }] };
}
