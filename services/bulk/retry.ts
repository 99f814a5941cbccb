/**
 * Retry: what was set aside of many sagas is sent again, as it was. A saga that has it already takes it as known.
 */
import { MeshError } from "../../protocol/errors.ts";
import { type Letter, readLetter, readLetters, retryLetter, sagaOfLetter } from "../client/dead.ts";
import type { ClientDeps } from "../client/send.ts";
import { type BulkAct, type BulkRow, oneByOne } from "./act.ts";

/** The dead letters of the sagas that are meant; of code alone, where one is named. */
export const retrying = (
  deps: ClientDeps,
  { code }: { readonly code?: string | undefined } = {},
): BulkAct => ({
  look: async (meant) => {
    const letters = (await readLetters(deps)).filter((one) => code === undefined || one.code === code);
    const bySaga = Map.groupBy(letters, sagaOfLetter);
    return meant.flatMap(({ saga, name }): BulkRow[] => {
      const own = bySaga.get(saga);
      if (own !== undefined) return own.map((letter) => ({ ...{ saga, is: "would" }, ...whatOf(letter) }));
      return [{ saga, what: name, is: "kept", because: "nothing of it was set aside" }];
    });
  },
  perform: oneByOne(async ({ saga, letter: number }) => {
    const letter = number === undefined ? undefined : await readLetter(deps, number);
    if (letter === undefined || sagaOfLetter(letter) !== saga)
      throw new MeshError("LETTER_UNKNOWN", `there is no dead letter ${number ?? ""} of ${saga}`);
    await retryLetter(deps, letter);
    return { what: "it is sent again", is: "done" };
  }),
});

const whatOf = ({ seq, code, reason }: Letter): Pick<BulkRow, "letter" | "what"> => ({
  letter: seq,
  what: `letter ${seq}, ${code}: ${reason.replace(`[${code}] `, "")}`,
});
