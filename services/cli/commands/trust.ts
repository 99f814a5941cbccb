import type { TrustShown } from "../../../protocol/documents/trust.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { didYouMean } from "../../../protocol/nearest.ts";
import { type Change, changeTrust, showTrust, trustKeyOf } from "../../client/trust.ts";
import { readPublicKey } from "../../runtime/signing.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { nowAndThen } from "../telling/progress-note.ts";
import { trustText } from "../telling/trusted.ts";

const actions = ["show", "add", "remove", "require"] as const;
type Action = (typeof actions)[number];

/** Whose signatures count on ledgers. */
export const trust = defineCommand({
  name: "trust",
  summary: "say whose signatures count, and that turns must be signed",
  details:
    "`add` names the public key that a host signs with (SAGAMESH_HOST_NKEY names the file of its seed). `require` makes every\n" +
    "turn from then on count only if one of the keys signed it: hosts and all that reads ledgers skip what is not, as they skip\n" +
    "what does not follow the last turn, and go on; `verify` tells of it, `repair` removes it. It is never taken back. `remove`\n" +
    "withdraws a key: what it signed before counts on. A saga with a turn by a key that was never named waits\n" +
    "(SIGNER_UNKNOWN) until `add` or `remove` says what it is. require and remove do nothing without --yes, are refused while\n" +
    "a living host signs what would not count, and return once every living host goes by it, some seconds later; broken off,\n" +
    "they are run again.",
  positionals: {
    action: { help: "show, add, remove or require; show unless given", optional: true, choices: actions },
    key: { help: "with add and remove: a public NKey", optional: true },
  },
  options: {
    name: { type: "string", hint: "TEXT", help: "with add: what people call the key" },
    yes: { type: "boolean", help: "do it; without it require and remove only look" },
  },
  examples: [
    "sagamesh trust",
    "sagamesh trust add UBAZJCBH3EQP7MBBB7QUASX3EGBJRFW7BRUXHOJXIT6QFORWF23CD6MT --name host-1",
    "sagamesh trust require --yes",
  ],
  run: async ({ action: word = "show", key, name, yes }, context) => {
    const action = readAction(word);
    const change = readChange(action, key);
    if (name !== undefined && action !== "add")
      throw new MeshError("USAGE", `trust ${action}: --name is for add`);
    const { output, signal } = context;
    return withMesh(context, async ({ deps }) => {
      const note = nowAndThen(output.note);
      const report = (hosts: readonly string[]) => note(`  waits for ${hosts.join(", ")}`);
      const document =
        change !== undefined
          ? await changeTrust(deps, change, { isMeant: yes, signal, report })
          : action === "add"
            ? await trustKeyOf(deps, readPublicKey(key), name)
            : await showTrust(deps);
      output.print(document, () => trustText(document));
      return isWell(document) ? 0 : 1;
    });
  },
});

/** Where turns must be signed, all that live sign what counts. */
const isWell = ({ required, hosts, fault }: TrustShown): boolean =>
  fault === undefined && (required === undefined || hosts.every(({ ready }) => ready));

/** Throws USAGE. */
function readAction(word: string): Action {
  const action = actions.find((one) => one === word);
  if (action !== undefined) return action;
  throw new MeshError(
    "USAGE",
    `trust: expected ${actions.join(", ")}, got "${word}"${didYouMean(word, actions)}`,
  );
}

/** What takes two steps; undefined for what does not. Throws USAGE. */
function readChange(action: Action, key: string | undefined): Change | undefined {
  const takesKey = action === "add" || action === "remove";
  if (!takesKey && key !== undefined)
    throw new MeshError("USAGE", `trust ${action}: "${key}" is one word too many`);
  if (action === "require") return { type: "require" };
  if (action === "add") readPublicKey(key);
  return action === "remove" ? { type: "withdraw", key: readPublicKey(key) } : undefined;
}
