import type { SignedDocument, VerifyDocument } from "../../../protocol/documents/verify.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { type BundleOptions, verifyArchive } from "../../archive/verify.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { checkSignature, readTrusted } from "../../runtime/signing.ts";
import { defineCommand } from "../frame/command.ts";
import { type CommandContext, withMesh } from "../frame/context.ts";
import { describeDefinition } from "../telling/describe.ts";
import { nowAndThen } from "../telling/progress-note.ts";
import { archiveOption, fileIn, isFile, ownApp } from "../frame/saga-source.ts";
import { archivesIn, verifyEach, verifyInMesh } from "./verifying.ts";

/** Checks ledgers. */
export const verify = defineCommand({
  name: "verify",
  summary: "check ledgers: chain, order, headers, results, blobs; with --app every decision too",
  details:
    "One changed byte anywhere is named with its turn; turn 0 is what belongs to no turn, such as a file's first line.\n" +
    "With --app each ledger is folded, and what is decided anew must be what was recorded. Archives are read without a\n" +
    "server. Exit code 1 if anything was found.\n" +
    "A signature proves that the holder of that key wrote these bytes, after all turns before; not whose key it is. A wrong one\n" +
    "is always a finding, a missing one only with --trust.",
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
    archive: archiveOption,
  },
  examples: [
    "sagamesh verify hire-41 --app app.ts",
    "sagamesh verify --all --app app.ts",
    "sagamesh verify --all --archive /backup/sagas",
    "sagamesh verify hire-41 --trust keys.txt",
  ],
  run: async ({ saga: word, all, app: file, archive, trust }, context) => {
    if (all === (word !== undefined))
      throw new MeshError("USAGE", all ? "verify: --all goes without a saga" : "verify: SAGA is missing", {
        remedy: "Name a saga or a file, or use --all.",
      });
    const app = file === undefined ? undefined : await loadApp(file);
    const trusted = trust === undefined ? undefined : await readTrusted(trust);
    const signatures = { check: checkSignature, trusted };
    const options = { app, appOf: ownApp, foldsWhereServed: all, signatures };
    const told = tellOf(context, all);
    if (word === undefined) await verifyAll(context, archive, { ...options, unread: told.unread }, told.tell);
    else
      for (const document of await verifyOne(context, word, archive, { ...options, unread: told.unread }))
        told.tell(document);
    return told.end();
  },
});

type Options = BundleOptions & { readonly unread: (why: string) => void };

async function verifyOne(
  context: CommandContext,
  word: string,
  archive: string | undefined,
  options: Options,
): Promise<VerifyDocument[]> {
  if (isFile(word)) return verifyArchive(word, options);
  const saga = parseSagaId(word);
  if (archive !== undefined) {
    const path = fileIn(archive, saga);
    const own = (await verifyArchive(path, options)).filter((one) => one.saga === saga);
    if (own.length > 0) return own;
    throw new MeshError("ARCHIVE_BROKEN", `${path} does not hold ${saga}`);
  }
  const unread = (why: string): never => {
    throw new MeshError("SAGA_ARCHIVED", why);
  };
  const { archiveDir } = context.config;
  return withMesh(context, ({ ports }) => verifyInMesh(ports, saga, { ...options, archiveDir, unread }));
}

async function verifyAll(
  context: CommandContext,
  archive: string | undefined,
  options: Options,
  tell: (document: VerifyDocument) => void,
): Promise<void> {
  const { signal, config } = context;
  if (archive !== undefined)
    return verifyEach(await archivesIn(archive), (path) => verifyArchive(path, options), tell, signal);
  return withMesh(context, async ({ ports }) => {
    const sagas = (await ports.ledger.list()).map(({ saga }) => saga);
    const inMesh = { ...options, archiveDir: config.archiveDir };
    return verifyEach(sagas, (saga) => verifyInMesh(ports, saga, inMesh), tell, signal);
  });
}

/** Says what was found as it is found: of many sagas only those with findings, and in the end a summary. */
function tellOf({ output }: CommandContext, isMany: boolean) {
  const count = { sagas: 0, turns: 0, folded: 0, broken: 0, unread: 0 };
  const lookedAt = nowAndThen(output.note);
  return {
    unread: (why: string) => {
      count.unread += 1;
      output.note(why);
    },
    tell: (document: VerifyDocument) => {
      count.sagas += 1;
      count.turns += document.turns;
      if (document.folded) count.folded += 1;
      if (!document.ok) count.broken += 1;
      if (!isMany || output.json || !document.ok) output.print(document, () => describe(document));
      lookedAt(`looked at ${count.sagas} sagas, ${count.turns} turns`);
    },
    /** The exit code. */
    end: (): number => {
      if (isMany && !output.json)
        output.print(
          undefined,
          () =>
            `${count.sagas} sagas, ${count.turns} turns: ${count.sagas - count.broken} whole, ${count.broken} with findings` +
            `; ${count.folded} folded${count.unread === 0 ? "" : `; ${count.unread} archived elsewhere`}`,
        );
      return count.broken === 0 ? 0 : 1;
    },
  };
}

function describe({ saga, ok, turns, folded, unproven = [], signed, findings }: VerifyDocument): string {
  const lines = findings.map(
    ({ turn, code, what }) => `${saga} ${turn === 0 ? "file" : `turn ${turn}`}: [${code}] ${what}`,
  );
  if (ok)
    lines.push(
      `${saga}: ${turns} turns are whole${folded ? ", and fold to the decisions recorded" : ""}`,
      ...unproven.map(
        ({ from, to, definition }) =>
          `${saga}: but turns ${from} to ${to} were decided by ${describeDefinition(definition)}, which the application file does not define`,
      ),
    );
  return [...lines, ...signedLines(signed)].join("\n");
}

function signedLines(signed: SignedDocument | undefined): string[] {
  if (signed === undefined) return [];
  const { turns, turnsUnsigned, votes, votesUnsigned } = signed;
  const lines = (what: string, by: Readonly<Record<string, number>>, unsigned: number) => [
    ...Object.entries(by).map(([key, n]) => `  ${n} ${what} signed by ${key}`),
    ...(unsigned === 0 ? [] : [`  ${unsigned} ${what} not signed`]),
  ];
  return [...lines("turns", turns, turnsUnsigned), ...lines("votes", votes, votesUnsigned)];
}
