import type { RepairDocument } from "../../../protocol/documents/repair.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseSagaId, type SagaId } from "../../../protocol/ids.ts";
import { repairSaga } from "../../client/repair.ts";
import { manyOf, readMany } from "../../ledger/many.ts";
import { type CommandContext, type CommandMesh, withMesh } from "../frame/context.ts";
import { signerFor } from "../../runtime/signing.ts";
import { defineCommand } from "../frame/command.ts";
import { tellUnreadable } from "../frame/unreadable.ts";
import { nowAndThen } from "../telling/progress-note.ts";
import { repairText, totalText } from "../telling/repaired.ts";

/** Takes messages that are no turns off ledgers. */
export const repair = defineCommand({
  name: "repair",
  summary: "remove messages that are no turns from a ledger's subject",
  details:
    "Whatever is published on a ledger and does not follow its last turn is no turn: hosts and readers skip it, and the saga\n" +
    "goes on. This lists what there is of it and why it is none, and with --yes removes it, for good. The server removes nothing\n" +
    "from the middle of a ledger: so the turns, and a tombstone, are written again behind it byte for byte, and read back, before\n" +
    "all that stands before them is purged. Kept is what was stored the way hosts store turns, and all with it: a turn before it\n" +
    "may have been changed; compare with a backup, then name it with --also. Where a turn is gone nothing is removed. May be killed\n" +
    "and run again, while hosts run. Exit code 1 if something is kept, was not removed, or cannot be repaired.",
  positionals: { saga: { help: "the saga's id", optional: true } },
  options: {
    all: { type: "boolean", help: "every ledger of the mesh; each is read whole" },
    yes: { type: "boolean", help: "remove them; without it they are only listed" },
    also: {
      type: "string",
      hint: "SEQUENCE",
      multiple: true,
      help: "remove this message too, which would be kept; may be repeated",
    },
  },
  examples: ["sagamesh repair hire-41", "sagamesh repair hire-41 --yes", "sagamesh repair --all --yes"],
  run: async ({ saga: word, all, yes, also = [] }, context) => {
    const usage = (what: string) =>
      new MeshError("USAGE", `repair: ${what}`, { remedy: "Name a saga, or use --all." });
    if (all && word !== undefined) throw usage("--all goes without a saga");
    if (all && also.length > 0) throw usage("--also goes with one saga");
    const named = new Set(also.map(sequenceOf));
    if (all) return withMesh(context, (mesh) => repairAll(context, mesh, yes));
    if (word === undefined) throw usage("SAGA is missing");
    const saga = parseSagaId(word);
    return withMesh(context, async ({ ports, deps: { clock } }) => {
      const signer = signerFor(ports, context.config, !yes);
      const document = await repairSaga({ ports, clock, signer }, saga, { isMeant: yes, named });
      context.output.print(document, () => repairText(document));
      return isWell(document, yes) ? 0 : 1;
    });
  },
});

function sequenceOf(word: string): number {
  const seq = Number(word);
  if (/^\d+$/.test(word) && seq > 0 && Number.isSafeInteger(seq)) return seq;
  throw new MeshError("USAGE", `repair: --also ${word}: expected the sequence of a message`, {
    remedy: "`sagamesh repair SAGA` lists the messages with their sequences.",
  });
}

const isWell = ({ would, kept, broken }: RepairDocument, isMeant: boolean): boolean =>
  kept === 0 && broken === undefined && !(isMeant && would > 0);

/** Ledgers in memory at a time. */
const atOnce = 4;

async function repairAll(
  { output, signal, config }: CommandContext,
  { ports, deps: { clock } }: CommandMesh,
  isMeant: boolean,
): Promise<number> {
  const sagas = (await ports.ledger.list()).map(({ saga }) => saga).sort();
  const signer = signerFor(ports, config, !isMeant);
  const progress = nowAndThen(output.note);
  let looked = 0;
  const read = await readMany(
    sagas,
    async (saga: SagaId) => {
      const document = await repairSaga({ ports, clock, signer }, saga, { isMeant });
      progress(`looked at ${++looked} of ${sagas.length} sagas`);
      return document;
    },
    { atOnce, signal },
  );
  const told = read.filter(({ would, removed, kept, broken }) => would + removed + kept > 0 || broken);
  for (const document of told) output.print(document, () => repairText(document));
  if (!output.json) output.print(undefined, () => totalText(sagas.length, read));
  const broken = read.flatMap(({ saga, broken: one }) =>
    one === undefined ? [] : [{ saga, code: one.code, reason: one.what }],
  );
  const code = tellUnreadable(output, manyOf([], [...read.unreadable, ...broken]).unreadable);
  return read.every((document) => isWell(document, isMeant)) ? code : 1;
}
