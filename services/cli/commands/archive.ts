import { resolve } from "node:path";
import type { ArchiveDocument } from "../../../protocol/documents/archive.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { ListedStatus } from "../../../protocol/documents/listing.ts";
import { parseSagaId, type SagaId } from "../../../protocol/ids.ts";
import { forgetRows, sagasOf, withoutRow } from "../../listing/find.ts";
import type { Ports } from "../../wire/ports.ts";
import { limits } from "../../../protocol/limits.ts";
import { archiveAll, seeToArchived } from "../../archive/all.ts";
import { openFolder } from "../../archive/archive.ts";
import { readRegistry } from "../../client/registry.ts";
import { msOf } from "../../../protocol/duration.ts";
import { signerFor } from "../../runtime/signing.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { table } from "../frame/table.ts";
import { meantOptions, sagasMeant } from "./meant.ts";
import { indexUrlOption, withTables } from "./query.ts";

const progressMs = 2_000;

/** Moves finished sagas from the server to files. */
export const archive = defineCommand({
  name: "archive",
  summary: "move finished sagas from the server to compressed files",
  details:
    "The sagas of a run become one file, a bundle (several from 5,000 on), read back and verified before their turns are\n" +
    "purged. inspect, verify and replay read each there, by its id. A tombstone stays, so its id is never started again, until\n" +
    "--forget-after takes it away: then a start under the id begins a new saga, and what comes late is set aside. May be killed, run\n" +
    "again, and run twice at once; for example daily by cron. Large values (over 64 KiB) are in the file, and stay on the server\n" +
    "too. With --query of the sagas that it means those that are due; they are listed, and archived with --yes. Exit code 1 if a saga\n" +
    "failed, or one that was named was not due.",
  positionals: { sagas: { help: "the sagas' ids; all that are due unless given", multiple: true } },
  options: {
    after: {
      type: "string",
      hint: "DURATION",
      help: "how long ago they must have ended: 30d unless given, 7d at least",
    },
    to: {
      type: "string",
      hint: "DIR",
      help: "folder of the bundles; archive/ in the data folder unless given",
    },
    "forget-after": {
      type: "string",
      hint: "DURATION",
      help: "also take away the tombstones of sagas archived so long ago, 30d at least; none unless given",
    },
    archived: {
      type: "boolean",
      help: "also look at sagas archived before: what they have left on the server goes; as with --forget-after",
    },
    force: {
      type: "boolean",
      help: "also sagas with an effect in doubt, and with --after those that ended just now",
    },
    "dry-run": { type: "boolean", help: "only say what is due" },
    ...meantOptions,
    url: indexUrlOption,
  },
  examples: [
    "sagamesh archive --after 90d --to /backup/sagas",
    "sagamesh archive --forget-after 365d",
    "sagamesh archive hire-41 --after 0s --force",
    "sagamesh archive --query 'agent=hire and status=cancelled' --yes",
  ],
  run: async ({ query, yes, url, ...args }, given) => {
    const context = withTables(given, url);
    const { output, config, signal } = context;
    const isDryRun = args["dry-run"] || (query !== undefined && !yes);
    const afterMs = readAfter(args.after, args.force);
    const forgetAfterMs = readForgetAfter(args["forget-after"]);
    const folder = resolve(args.to ?? config.archiveDir);
    const named = args.sagas.map(parseSagaId);
    if ((yes || url !== undefined) && query === undefined)
      throw new MeshError("USAGE", "archive: --yes and --url are for --query");
    if (query !== undefined && (named.length > 0 || args.archived || forgetAfterMs !== undefined))
      throw new MeshError("USAGE", "archive: --query goes without sagas, --archived and --forget-after");
    const meant = query === undefined ? undefined : await sagasMeant(context, "archive", query);
    const ended = meant?.filter(({ status }) => status !== "running").map(({ saga }) => saga);
    return withMesh(context, async ({ ports, deps: { clock, chance, from } }) => {
      const registered = await readRegistry(ports.registry);
      if (!isDryRun) await openFolder(folder, clock.now());
      const sagas =
        ended ?? (named.length > 0 ? named : await endedSagas(ports, clock.now() - afterMs, output.note));
      const documents: ArchiveDocument[] = [];
      let saidAt = clock.elapsed();
      const tell = (document: ArchiveDocument) => {
        documents.push(document);
        const isShown = named.length > 0 || !quiet.has(document.outcome);
        if (output.json && isShown) output.print(document, () => "");
        if (clock.elapsed() - saidAt < progressMs) return;
        saidAt = clock.elapsed();
        output.note(`looked at ${documents.length} of ${sagas.length} sagas`);
      };
      const options = { afterMs, isForced: args.force, isDryRun, forgetAfterMs, signal };
      const signer = signerFor(ports, config, isDryRun);
      if (named.length === 0 && (args.archived || forgetAfterMs !== undefined)) {
        const deps = { ports, clock, chance, by: from, folder, registered, signer };
        const looked = new Set(sagas);
        const others = (await withoutRow(ports)).filter((saga) => !looked.has(saga));
        await seeToArchived(deps, others, options, tell);
      }
      await archiveAll({ ports, clock, chance, by: from, folder, registered, signer }, sagas, options, tell);
      const gone = documents.flatMap(({ saga, outcome }) =>
        outcome === "archived" || outcome === "already" ? [saga] : [],
      );
      if (ports.listing !== undefined && !isDryRun)
        await forgetRows(ports.listing, new Set(gone), () => chance.nonce());
      signal.throwIfAborted();
      if (!output.json) output.print(undefined, () => describe(documents, folder, named.length > 0));
      const isDone = ({ outcome }: ArchiveDocument) =>
        outcome !== "failed" && (outcome !== "kept" || named.length === 0);
      return documents.every(isDone) ? 0 : 1;
    });
  },
});

/** Those that have ended, and not since; by whose clock the ledger tells, so some that ended just after are among them. */
function endedSagas(ports: Ports, before: number, report: (why: string) => void): Promise<SagaId[]> {
  const kinds = ListedStatus.exclude(["running"]).options.map((status) => ({ status }));
  return sagasOf(ports, kinds, report, ({ row }) => (row?.at ?? 0) < before + limits.clockSkewMs);
}

/** Of these a person who named no saga need not hear one by one. */
const quiet: ReadonlySet<ArchiveDocument["outcome"]> = new Set(["kept", "already"]);

const afterDefault = "30d";

/** A repeat of a signal is known for what it is only within the horizon; after it, a tombstone answers as well. */
function readAfter(text: string | undefined, isForced: boolean): number {
  const ms = msOf(text ?? afterDefault);
  if (ms >= limits.signalHorizonMs || isForced) return ms;
  throw new MeshError("USAGE", `archive: --after ${text ?? afterDefault}: expected 7d or more`, {
    remedy: "A late input may still come within 7 days. Wait, or use --force.",
  });
}

/** An id that is asked for again within this time is that of the saga it was. */
function readForgetAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = msOf(text);
  if (ms >= limits.forgetAfterMsMin) return ms;
  throw new MeshError("USAGE", `archive: --forget-after ${text}: expected 30d or more`, {
    remedy: "Who starts a saga under its id again within that time is to be told of the one that was.",
  });
}

function describe(documents: readonly ArchiveDocument[], folder: string, isNamed: boolean): string {
  const count = (outcome: ArchiveDocument["outcome"]) =>
    documents.filter((one) => one.outcome === outcome).length;
  const shown = documents.filter(({ outcome }) => isNamed || !quiet.has(outcome));
  const rows = shown.map(({ saga, outcome, turns, bytes, file, reason }) => [
    saga,
    outcome,
    turns === undefined ? "" : String(turns),
    bytes === undefined ? "" : String(bytes),
    reason ?? file ?? "",
  ]);
  return [
    ...(rows.length === 0 ? [] : [table(["SAGA", "OUTCOME", "TURNS", "BYTES", "FILE OR REASON"], rows), ""]),
    `${count("archived")} archived to ${folder}, ${count("due")} due, ${count("kept")} kept, ` +
      `${count("already")} archived before, ` +
      `${count("forgotten")} forgotten, ${count("failed")} failed`,
  ].join("\n");
}
