/**
 * Goal: a ledger whose last turns were taken away is never called whole without a word: either something beside it names what is
 * missing, or it is said how the saga stands and how far that can be known; and a whole ledger has nothing against it.
 * Method: every example runs on the mesh in memory, with crashes; each of its ledgers is then cut after every turn and held
 * against the claims, the parent's ledger, the children's ids and all other ledgers, as they are. Printed is which evidence
 * found how many of the cuts.
 */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { chainHash } from "../../../protocol/digest.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { decodeTurn } from "../../../services/ledger/reader.ts";
import { besideSaga, childrenOf } from "../../../services/runtime/evidence.ts";
import {
  createMentions,
  createStand,
  heldAgainst,
  type Mention,
  type Stand,
} from "../../../services/views/verify-evidence.ts";
import type { Ports } from "../../../services/wire/ports.ts";
import { leftBy } from "../../support/left-behind.ts";
import { examples } from "../../support/recorded-runs.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** The stands of a ledger after each of its turns, the last of them the whole one's. */
async function standsOf({ ledger, blobs }: Ports, saga: SagaId): Promise<Stand[]> {
  const following = createStand(saga);
  const last = await ledger.last(saga);
  const stands: Stand[] = [];
  for (const message of await ledger.read(saga, 0, last?.seq ?? 0)) {
    following.take(await decodeTurn(blobs, message), chainHash(message.data));
    const { hashes, keys, ...stand } = following.stand();
    stands.push({ ...stand, hashes: [...hashes], keys: new Set(keys) });
  }
  return stands;
}

const kinds: readonly (readonly [string, RegExp])[] = [
  ["a claim", /the claim \S+ is of an effect/],
  ["its parent", /its parent \S+ has heard/],
  ["a child's id", /the child \S+ names/],
  ["another ledger", /turn \d+ of \S+ names/],
];

test("every cut of every example's ledger is named by what is beside it, or the saga is not said to have ended", async () => {
  const counts = new Map<string, number>(kinds.map(([kind]) => [kind, 0]));
  const cuts = { all: 0, found: 0, open: 0, silent: 0 };
  for (const [place, example] of examples.entries()) {
    const { t, ports, deps, until, sagas } = await leftBy(example, 30 + place);
    const ledgers = new Map<SagaId, Stand[]>();
    const mentions = createMentions();
    for (const saga of sagas) {
      ledgers.set(saga, await until(standsOf(ports, saga)));
      for (const turn of await t.anySaga(saga).ledger()) mentions.take(turn);
    }
    for (const [saga, stands] of ledgers) {
      const whole = stands.at(-1)!;
      const beside = await until(besideSaga(deps, whole));
      const started = await until(childrenOf(deps, { saga, children: new Set() }, sagas));
      const all: Mention[] = [...beside.mentions, ...started, ...mentions.of(saga)];
      expect(heldAgainst(whole, { mentions: all }), `${example.name} ${saga}`).toEqual([]);
      for (const stand of stands.slice(0, -1)) {
        const found = heldAgainst(stand, { mentions: all });
        for (const { code, turn } of found)
          expect([code, turn > stand.turns]).toEqual(["LEDGER_SHORT", true]);
        for (const [kind, words] of kinds)
          if (found.some(({ what }) => words.test(what))) counts.set(kind, (counts.get(kind) ?? 0) + 1);
        cuts.all += 1;
        if (found.length > 0) cuts.found += 1;
        else if ((stand.standing?.openCount ?? 0) > 0) cuts.open += 1;
        else cuts.silent += 1;
      }
    }
    await t.close();
  }
  for (const [kind, found] of counts) expect(found, `${kind} found a cut`).toBeGreaterThan(0);
  // Something came after all had ended: there only what was kept is sure.
  expect(cuts.silent).toBeLessThan(cuts.all / 50);
  process.stderr.write(
    `cuts ${JSON.stringify(cuts)}; found by ${JSON.stringify(Object.fromEntries(counts))}\n`,
  );
});
