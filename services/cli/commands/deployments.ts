import type { DrainDocument } from "../../../protocol/documents/deployment.ts";
import { MeshError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { didYouMean } from "../../../protocol/nearest.ts";
import { listDeployments, needsOf, promote, ramp } from "../../client/deployments.ts";
import { defineCommand } from "../frame/command.ts";
import { type CommandContext, type CommandMesh, withMesh } from "../frame/context.ts";
import { tellUnreadable, unreadableText } from "../frame/unreadable.ts";
import { describeDeclared, describeDeployments, describeNeeds } from "../telling/deployments-text.ts";
import { nowAndThen } from "../telling/progress-note.ts";
import { assertNotRehearsed, rehearseOptions, rehearseSagas } from "./rehearse.ts";

const actions = ["ls", "promote", "ramp", "drain", "rehearse"] as const;
type Action = (typeof actions)[number];

/** Which definitions there are, and which of them new sagas begin with. */
export const deployments = defineCommand({
  name: "deployments",
  summary: "list what is served and what lives under it; choose what new sagas begin with",
  details:
    "A definition is NAME@VERSION, or NAME@VERSION#HASH where several have one version. New sagas of a name begin with its\n" +
    "newest version until one is promoted; from then on starts wait for that one rather than go to another. `ramp` sends a\n" +
    "share of them to a second one, by the saga's id; 0% ends it. Both return when every living host goes by it.\n" +
    "`drain` waits until nothing needs a definition any more: no living saga, no start, no parent that may start it.\n" +
    "`rehearse` tries an application file on recorded sagas before any host serves it: which would move as they are, which\n" +
    "would decide otherwise and where first, which cannot be folded, and what was changed. Living ones unless --query says.",
  positionals: {
    action: {
      help: "ls, promote, ramp, drain or rehearse; ls unless given",
      optional: true,
      choices: actions,
    },
    definition: { help: "NAME@VERSION or NAME@VERSION#HASH", optional: true },
    share: { help: "with ramp: the share of new sagas, for example 10%", optional: true },
  },
  options: {
    "no-wait": { type: "boolean", help: "with drain: look once; exit 1 if it is still needed" },
    ...rehearseOptions,
  },
  examples: [
    "sagamesh deployments",
    "sagamesh deployments ramp hire@2 10%",
    "sagamesh deployments promote hire@2",
    "sagamesh deployments drain hire@1",
    "sagamesh deployments rehearse --app new.ts --query 'agent=hire' --sample 200 --fail-on differs,unfoldable",
  ],
  run: async ({ action: word, definition, share: text, "no-wait": once, ...given }, context) => {
    const action = readAction(word);
    if (action !== "rehearse") assertNotRehearsed(action, given);
    const which = readDefinition(action, definition);
    const share = readShare(action, text);
    if (once && action !== "drain")
      throw new MeshError("USAGE", `deployments ${action}: --no-wait is for drain`);
    if (action === "rehearse") return rehearseSagas(given, context);
    const { output, signal } = context;
    return withMesh(context, async (mesh) => {
      if (action === "ls") return list(context, mesh);
      if (action === "drain") return drain(context, mesh, which, once);
      const note = nowAndThen(output.note);
      const waiting = {
        signal,
        report: (hosts: readonly string[]) => note(`  waits for ${hosts.join(", ")} to go by it`),
      };
      const document =
        action === "promote"
          ? await promote(mesh.deps, which, waiting)
          : await ramp(mesh.deps, which, share, waiting);
      output.print(document, () => describeDeclared(document));
      return 0;
    });
  },
});

async function list({ output }: CommandContext, { ports }: CommandMesh): Promise<number> {
  const documents = await listDeployments(ports);
  if (output.json) for (const document of documents) output.print(document, () => "");
  else output.print(undefined, () => describeDeployments(documents));
  return tellUnreadable(output, documents.unreadable);
}

const lookAgainMs = 1_000;

/** Exit code 1 if it is still needed: looked at once, or asked to end. */
async function drain(
  { output, signal }: CommandContext,
  { ports, deps: { clock } }: CommandMesh,
  which: string,
  once: boolean,
): Promise<number> {
  const ended = new Set<SagaId>();
  let told = "";
  const tell = (document: DrainDocument) => {
    const line = describeNeeds(document);
    if (line !== told) output.note(`  ${line}`);
    told = line;
  };
  for (;;) {
    const document = await needsOf(ports, which, ended);
    if (!document.needed || once) {
      const { needed, unreadable = [] } = document;
      output.print(document, () => `${describeNeeds(document)}${unreadableText(unreadable)}`);
      return needed || unreadable.length > 0 ? 1 : 0;
    }
    tell(document);
    await clock.sleep(lookAgainMs, signal);
  }
}

/** Throws USAGE. */
function readAction(word = "ls"): Action {
  const action = actions.find((one) => one === word);
  if (action !== undefined) return action;
  throw new MeshError(
    "USAGE",
    `deployments: expected ${actions.join(", ")}, got "${word}"${didYouMean(word, actions)}`,
  );
}

/** Throws USAGE. */
function readDefinition(action: Action, definition: string | undefined): string {
  const takesNone = action === "ls" || action === "rehearse";
  if (takesNone !== (definition === undefined))
    throw new MeshError(
      "USAGE",
      takesNone
        ? `deployments ${action}: "${definition}" is one word too many`
        : `deployments ${action}: the definition is missing, for example hire@2`,
    );
  return definition ?? "";
}

/** A share over 0 to 1. Throws USAGE. */
function readShare(action: Action, text: string | undefined): number {
  if (action !== "ramp") {
    if (text !== undefined)
      throw new MeshError("USAGE", `deployments ${action}: "${text}" is one word too many`);
    return 0;
  }
  const [, digits] = /^(\d{1,3}(?:\.\d{1,4})?)\s?%$/.exec(text ?? "") ?? [];
  const share = digits === undefined ? Number.NaN : Number(digits) / 100;
  if (share >= 0 && share <= 1) return share;
  throw new MeshError(
    "USAGE",
    `deployments ramp: expected a share from 0% to 100%, got ${text === undefined ? "nothing" : `"${text}"`}`,
  );
}
