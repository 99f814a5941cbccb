import type { LinkDocument } from "../../../protocol/documents/stored.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { msOf } from "../../../protocol/duration.ts";
import { withGatewayUrl } from "../../runtime/config.ts";
import { type GatewayLinks, openGatewayLinks } from "../../runtime/links.ts";
import { defineCommand } from "../frame/command.ts";
import { parseJsonOrText } from "../frame/json.ts";
import { parseTask } from "../frame/task.ts";

const withinDefault = "7d";

/** Makes a signed link. It asks no server: a link is what it says. */
export const link = defineCommand({
  name: "link",
  summary: "make a link of the gateway: for a signal, an approval or a denial",
  details:
    "The link acts for every person who has it, once: send it to the one it is for only. It is signed with\n" +
    "SAGAMESH_GATEWAY_SECRET, or the embedded server's own secret, and leads to SAGAMESH_GATEWAY_URL.",
  positionals: {
    kind: { help: "signal, approve or deny", choices: ["signal", "approve", "deny"] },
    to: { help: "the saga's id; of an approval or denial <saga>/<intent>, as `sagamesh tasks` lists it" },
    name: { help: "the signal's name", optional: true },
    data: {
      help: "what the signal says, JSON or a plain text; the person who uses the link says it unless given",
      optional: true,
      json: "whole",
    },
  },
  options: {
    within: { type: "string", hint: "TIME", help: `how long it is good, for example 3d (${withinDefault})` },
    by: {
      type: "string",
      hint: "NAME",
      help: "the person in whose name it approves or denies; recorded as given",
    },
    as: { type: "string", hint: "ROLE", help: "the role in which they do" },
    "public-url": {
      type: "string",
      hint: "URL",
      help: "how the outside reaches the gateway; else SAGAMESH_GATEWAY_URL",
    },
  },
  examples: [
    `sagamesh link signal hire-41 recruiter_note '{"text":"Tuesday only"}' --within 3d`,
    "sagamesh link approve hire-41/7-0 --by ann",
  ],
  run: async (
    { kind, to, name, data, within = withinDefault, by, as, "public-url": url },
    { config, output },
  ) => {
    const expiresAt = Date.now() + msOf(within);
    const links = await openGatewayLinks(withGatewayUrl(config, url), within);
    const saga = parseSagaId(to.split("/")[0] ?? "");
    const document: LinkDocument = { url: make(links, { kind, to, name, data, by, as }), saga, expiresAt };
    output.print(document, () => document.url);
    return 0;
  },
});

interface Words {
  readonly kind: string;
  readonly to: string;
  readonly name: string | undefined;
  readonly data: string | undefined;
  readonly by: string | undefined;
  readonly as: string | undefined;
}

function make(links: GatewayLinks, { kind, to, name, data, by, as }: Words): string {
  if (kind === "signal") {
    if (name === undefined) throw usage("NAME is missing: the signal's name");
    return links.signal(to, name, data === undefined ? undefined : parseJsonOrText(data, "the data"));
  }
  if (kind !== "approve" && kind !== "deny") throw usage(`expected signal, approve or deny, got "${kind}"`);
  if (name !== undefined) throw usage(`"${name}" is one word too many`);
  if (by === undefined) throw usage("--by NAME is missing: a vote needs the name of the person who votes");
  return links[kind](parseTask(to), by, as);
}

const usage = (what: string): MeshError =>
  new MeshError("USAGE", what, { remedy: "See sagamesh link --help." });
