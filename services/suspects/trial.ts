/**
 * Trial: a suspect is taken in one child process after the other, until one lives on or it is set aside.
 *
 * TJ1 A suspect whose child lives on is cleared: its mark goes.
 */
import { limits } from "../../protocol/limits.ts";
import type { Delivery } from "../wire/ports.ts";
import { blamed, type Case } from "./case.ts";
import type { Mark } from "./mark.ts";
import type { Marks } from "./marks.ts";
import { type StayDeps, staySetAside, stayTaken } from "./staying.ts";
import { afterDeath, afterSetAside, isProven } from "./verdict.ts";

/** What a trial lives on. */
export interface TrialDeps extends StayDeps {
  readonly marks: Marks;
  /** A last child may settle what the suspect died of, before this process gives it up. */
  readonly settlesInChild: boolean;
  /** Sets these deliveries aside, running nothing of the application's, and acks them. */
  readonly giveUp: (key: string, deliveries: readonly Delivery[]) => Promise<void>;
}

/** Tries a suspect under its mark. Resolves with the delay to give back what is still held with, milliseconds. */
export async function tried(deps: TrialDeps, one: Case, first: Mark): Promise<number | undefined> {
  const { marks, log, wards } = deps;
  const { key, held } = one;
  let mark = first;
  while (!wards.hasEnded() && held.size > 0) {
    const revision = await marks.write(key, mark);
    if (isProven(mark)) {
      const goesOn = await setAside(deps, one, mark.victims);
      if (goesOn || held.size > 0) await marks.write(key, afterSetAside(mark));
      else await marks.remove(key, revision);
      break;
    }
    const stay = await stayTaken(deps, one, mark);
    if (stay.type === "survived") {
      log.info({ suspect: key, victims: mark.victims }, "suspect cleared");
      await marks.remove(key, revision); // TJ1
      break;
    }
    if (stay.type === "gone") {
      if (!wards.hasEnded()) log.warn({ suspect: key, reason: stay.reason }, "child process gone");
      return limits.earlyInputDelayMs;
    }
    const { pid, how, wasAlone } = stay;
    mark = afterDeath(mark, wasAlone);
    log.warn(
      { suspect: key, pid, how, wasAlone, victims: mark.victims },
      "child process died with a suspect",
    );
  }
  return undefined;
}

/** What it died of, for all that is known: in the last child, and in all before it. True if some is given back. */
async function setAside(deps: TrialDeps, one: Case, victims: number): Promise<boolean> {
  const { key, held } = one;
  const subjects = blamed(one).map(({ subject, seq }) => `${subject}#${seq}`);
  deps.log.warn({ suspect: key, victims, subjects }, "suspect set aside");
  const settled = deps.settlesInChild ? await staySetAside(deps, one) : "died";
  if (settled !== "died" || deps.wards.hasEnded()) return settled === "given back";
  const rest = blamed(one);
  await deps.giveUp(key, rest);
  for (const { seq } of rest) held.delete(seq);
  return false;
}
