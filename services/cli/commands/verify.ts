import type { VerifyDocument } from "../../../protocol/documents/verify.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { openArchives } from "../../archive/folder.ts";
import { type BundleOptions, verifyArchive, verifySaga } from "../../archive/verify.ts";
import { besideLedger, besideSaga, together } from "../../runtime/evidence.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { checkSignature, readTrusted } from "../../runtime/signing.ts";
import type { Evidence, Stand } from "../../views/verify-evidence.ts";
import { defineCommand } from "../frame/command.ts";
import { type CommandContext, withMesh } from "../frame/context.ts";
import { archiveOption, fileIn, isFile, ownApp } from "../frame/saga-source.ts";
import { tellVerified } from "../telling/verified.ts";
import { expectedOf, keptIn } from "./expecting.ts";
import { archivesIn, crossChecking, documentOfMissing, verifyEach, verifyInMesh } from "./verifying.ts";

/** Checks ledgers. */
export const verify = defineCommand({
  name: "verify",
  summary: "check ledgers: chain, order, headers, results, blobs; with --app every decision too",
  details:
    "One changed byte anywhere is named with its turn; turn 0 is what belongs to no turn, such as a file's first line.\n" +
    "With --app each ledger is folded, and what is decided anew must be what was recorded. Archives are read without a\n" +
    "server. Exit code 1 if anything was found.\n" +
    "A signature proves that the holder of that key wrote these bytes, after all turns before; not whose key it is. A wrong one\n" +
    "is always a finding, a missing one only with --trust.\n" +
    "A chain cannot tell that its last turns were taken away. So it is said how the saga stands, and its snapshot, its claims, its\n" +
    "file among the archives, its parent's ledger and the sagas it started (with --all every ledger) are looked at for turns that\n" +
    "are missing. Surely tells only who kept `last turn` of an earlier run, and gives it as --expect.",
  positionals: {
    saga: { help: "the saga's id, or the file of an archive", optional: true, paths: "files" },
  },
  options: {
    all: { type: "boolean", help: "every saga of the mesh, or with --archive of the folder" },
    app: {
      type: "string",
      hint: "FILE",
      help: "application file: fold the ledger and compare every decision",
    },
    trust: {
      type: "string",
      hint: "KEY",
      multiple: true,
      help: "public NKey of a host, or a file of such: every turn must be signed by one of them; may be repeated",
    },
    expect: {
      type: "string",
      hint: "TURN:HASH",
      multiple: true,
      help: "this turn must be there with this hash; or a file of lines SAGA TURN:HASH, as --heads prints them; may be repeated",
    },
    heads: {
      type: "boolean",
      help: "print only the last turn of each saga that is whole, as --expect takes it",
    },
    archive: archiveOption,
  },
  examples: [
    "sagamesh verify hire-41 --app app.ts",
    "sagamesh verify --all --app app.ts",
    "sagamesh verify --all --archive /backup/sagas",
    "sagamesh verify hire-41 --trust keys.txt",
    "sagamesh verify --all --heads > heads.txt",
    "sagamesh verify --all --expect heads.txt",
  ],
  run: async ({ saga: word, all, app: file, archive, trust, expect, heads }, context) => {
    if (all === (word !== undefined))
      throw new MeshError("USAGE", all ? "verify: --all goes without a saga" : "verify: SAGA is missing", {
        remedy: "Name a saga or a file, or use --all.",
      });
    const app = file === undefined ? undefined : await loadApp(file);
    const trusted = trust === undefined ? undefined : await readTrusted(trust);
    const expected = await expectedOf(expect, word);
    const signatures = { check: checkSignature, trusted };
    const told = tellVerified(context.output, { isMany: all, heads });
    const kept = ({ saga }: Pick<Stand, "saga">) => keptIn(expected, saga);
    const options = {
      app,
      appOf: ownApp,
      foldsWhereServed: all,
      signatures,
      evidence: kept,
      kept,
      unread: told.unread,
    };
    if (word === undefined) {
      await verifyAll(context, archive, options, told).catch((error: unknown) => {
        told.end(); // What was looked at was looked at.
        throw error;
      });
      for (const saga of expected.keys()) if (!told.has(saga)) told.tell(documentOfMissing(saga));
    } else for (const document of await verifyOne(context, word, archive, options)) told.tell(document);
    return told.end();
  },
});

type Options = BundleOptions & {
  readonly unread: (why: string) => void;
  /** What --expect says of a saga. */
  readonly kept: (stand: Pick<Stand, "saga">) => Evidence;
};

async function verifyOne(
  context: CommandContext,
  word: string,
  archive: string | undefined,
  options: Options,
): Promise<VerifyDocument[]> {
  if (isFile(word)) return verifyArchive(word, options);
  const saga = parseSagaId(word);
  if (archive !== undefined) {
    const archives = openArchives(archive);
    return [await verifySaga(archives, await fileIn(archives, saga), saga, options)];
  }
  const unread = (why: string): never => {
    throw new MeshError("SAGA_ARCHIVED", why);
  };
  const archives = openArchives(context.config.archiveDir);
  return withMesh(context, ({ ports, deps: { clock } }) => {
    const evidence = async (stand: Stand) =>
      together([options.kept(stand), await besideSaga({ ports, clock, archives }, stand)]);
    return verifyInMesh(ports, saga, { ...options, evidence, archives, unread });
  });
}

async function verifyAll(
  context: CommandContext,
  archive: string | undefined,
  options: Options,
  { tell, tellAgain }: Pick<ReturnType<typeof tellVerified>, "tell" | "tellAgain">,
): Promise<void> {
  const { signal, config } = context;
  if (archive !== undefined)
    return verifyEach(await archivesIn(archive), (path) => verifyArchive(path, options), tell, signal);
  return withMesh(context, async ({ ports, deps: { clock } }) => {
    const archives = openArchives(config.archiveDir);
    const sagas = (await ports.ledger.list()).map(({ saga }) => saga);
    const crossing = crossChecking(async (stand) =>
      together([options.kept(stand), await besideLedger({ ports, clock, archives }, stand)]),
    );
    const inMesh = { ...options, ...crossing.options, archives };
    await verifyEach(sagas, (saga) => verifyInMesh(ports, saga, inMesh), tell, signal);
    for (const document of crossing.found()) tellAgain(document);
  });
}
