/**
 * Disturber: somebody who may publish on ledgers' subjects and is no host. What it writes is of every kind that does not
 * chain (test/support/foreign.ts), before a saga's first turn, between its turns and after its end.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { subjects } from "../../protocol/subjects.ts";
import { chainOf, emptyHead } from "../../services/ledger/chain.ts";
import { seededChance } from "../../services/memory/faults.ts";
import type { MemoryMesh } from "../../services/memory/mesh.ts";
import { foreignKinds, plantedOf } from "../support/foreign.ts";
import type { Profile } from "./profile.ts";

/** Begins to disturb. What it publishes comes while the faults last and a little longer. */
export function startDisturber(
  mesh: MemoryMesh,
  {
    seed,
    profile,
    sagas,
  }: { readonly seed: number; readonly profile: Profile; readonly sagas: readonly SagaId[] },
): void {
  const { clock, server } = mesh;
  const chance = seededChance(seed, "disturber");
  const { foreignMax, faults } = profile;
  if (foreignMax === 0) return;
  for (const saga of sagas)
    for (let left = chance.between(1, foreignMax); left > 0; left--) {
      const kind = chance.pick(Object.keys(foreignKinds));
      // Some in a burst with another.
      const afterMs = chance.happens(0.2) ? 300 : chance.between(0, faults.until + 2_000);
      const compares = chance.happens(0.3);
      clock.at(clock.now() + afterMs, () => {
        const stored = server.ledger.after(saga, 0);
        const { links } = chainOf(saga, emptyHead, stored);
        const planted = plantedOf(
          kind,
          saga,
          links.map(({ message }) => message),
        );
        const expectedSeq = compares ? { expectedSeq: stored.at(-1)?.seq ?? 0 } : {};
        server.ledger.append({ ...planted, ...expectedSeq, subject: subjects.ledger(saga) }, () => undefined);
      });
    }
}
