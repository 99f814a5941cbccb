/**
 * Move changed: in development, the sagas of definitions that were changed without a new version go on under what the file
 * says now, where migrate's proof holds; of the others it is told why not.
 */
import { textOfDefinition } from "../../protocol/definition-text.ts";
import type { MigrateDocument } from "../../protocol/documents/migrate.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { App } from "../app/app.ts";
import { registeredDefinitions } from "../app/old-contracts.ts";
import { migrateSagas } from "../client/migrate.ts";
import type { Service } from "./serve.ts";

/** So many of those that stay are told one by one. */
const toldMax = 10;

/** Moves them once a host serves the application. Throws UNAVAILABLE; what was moved by then stays so. */
export async function moveChanged(
  { ports, clock, chance }: Pick<Service, "ports" | "clock" | "chance">,
  app: App,
  { report, signal }: { readonly report: (line: string) => void; readonly signal: AbortSignal },
): Promise<void> {
  const isChanged = (ref: DefinitionRef) =>
    app.definition(ref) === undefined &&
    app.definitions.some(({ name, version }) => name === ref.name && version === ref.version);
  if (!(await registeredDefinitions({ registry: ports.registry, clock })).some(isChanged)) return;
  const deps = { ports, clock, chance, from: "up --watch" };
  const judged = await migrateSagas(deps, app, { dryRun: true, signal });
  const changed = judged.filter(({ from }) => isChanged(from));
  const can = changed.filter(({ verdict }) => verdict === "can").map(({ saga }) => saga);
  const asked = can.length === 0 ? [] : await migrateSagas(deps, app, { sagas: can, signal });
  const moved = asked.filter(({ verdict }) => verdict === "moved");
  if (moved.length > 0) report(`${countOf(moved.length)} to what the file says now: ${namesOf(moved)}`);
  const stay = [
    ...changed.filter(({ verdict }) => verdict === "cannot"),
    ...asked.filter(({ verdict }) => verdict !== "moved"),
  ];
  for (const one of stay.slice(0, toldMax)) report(stayInWords(one));
  if (stay.length > toldMax)
    report(`and ${stay.length - toldMax} more stay: \`sagamesh migrate --dry-run --app FILE\` lists them`);
  if (stay.length > 0)
    report(
      "those that stay wait: undo the change, or raise the version and keep the old one in the file beside it",
    );
}

const countOf = (moved: number): string => `${moved} saga${moved === 1 ? "" : "s"} moved`;

const namesOf = (moved: readonly MigrateDocument[]): string => {
  const named = moved.slice(0, toldMax).map(({ saga }) => saga);
  return [...named, ...(moved.length > toldMax ? [`and ${moved.length - toldMax} more`] : [])].join(", ");
};

const stayInWords = ({
  saga,
  from,
  turn,
  why = "it was asked for, and no host has moved it yet",
}: MigrateDocument) =>
  `${saga} stays under ${textOfDefinition(from)}: ${turn === undefined ? "" : `turn ${turn}: `}${why}`;
