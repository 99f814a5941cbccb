/**
 * Verified: what `verify` says of ledgers.
 */
import type { SignedDocument, VerifyDocument } from "../../../protocol/documents/verify.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import type { Output } from "../frame/output.ts";
import { describeDefinition } from "./describe.ts";
import { nowAndThen } from "./progress-note.ts";

/** What is told as it is found. */
interface Telling {
  /** Why an archive was not looked at. */
  readonly unread: (why: string) => void;
  /** Of each ledger that was looked at, in the mesh or in a file: two files may be of one saga. */
  readonly tell: (document: VerifyDocument) => void;
  /** Of a saga that was looked at, what the ledgers of others say of it. */
  readonly tellAgain: (document: VerifyDocument) => void;
  /** Whether it was told of. */
  readonly has: (saga: SagaId) => boolean;
  /** The exit code. */
  readonly end: () => number;
}

/** Says what was found as it is found: of many sagas only those with findings, and in the end a summary. */
export function tellVerified(
  output: Output,
  { isMany, heads }: { isMany: boolean; heads: boolean },
): Telling {
  const count = { looked: 0, broken: 0, turns: 0, folded: 0, ended: 0, unread: 0, foreign: 0 };
  const lookedAt = nowAndThen(output.note);
  const seen = new Set<SagaId>();
  const broken = new Set<SagaId>();
  const show = (document: VerifyDocument) => {
    const { saga, ok, last } = document;
    if (heads && ok && last !== undefined) return output.print(document, () => `${saga} ${last}`);
    if (!isMany || output.json || !ok) output.print(document, () => describe(document));
  };
  return {
    unread: (why: string) => {
      count.unread += 1;
      output.note(why);
    },
    tell: (document: VerifyDocument) => {
      const { saga, turns, folded, standing } = document;
      seen.add(saga);
      count.looked += 1;
      count.turns += turns;
      if (folded) count.folded += 1;
      if (document.foreign !== undefined) count.foreign += 1;
      if (standing?.endedIn !== undefined) count.ended += 1;
      if (!document.ok) count.broken += 1;
      if (!document.ok) broken.add(saga);
      show(document);
      lookedAt(`looked at ${count.looked} sagas, ${count.turns} turns`);
    },
    tellAgain: (document) => {
      if (!document.ok && !broken.has(document.saga)) {
        count.broken += 1;
        broken.add(document.saga);
      }
      show(document);
    },
    has: (saga) => seen.has(saga),
    end: () => {
      if (isMany && !heads && !output.json)
        output.print(
          undefined,
          () =>
            `${count.looked} sagas, ${count.turns} turns: ${count.looked - count.broken} whole, ${count.broken} with findings` +
            `; ${count.folded} folded; ${count.ended} ended, ${count.looked - count.ended} not${count.unread === 0 ? "" : `; ${count.unread} archived elsewhere`}` +
            (count.foreign === 0
              ? ""
              : `; ${count.foreign} with messages that are no turns: \`sagamesh repair --all\``),
        );
      return count.broken === 0 ? 0 : 1;
    },
  };
}

function describe(document: VerifyDocument): string {
  const { saga, ok, turns, folded, unproven = [], signed, findings } = document;
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
  return [...lines, ...foreignLines(document), ...standingLines(document), ...signedLines(signed)].join("\n");
}

function foreignLines({ saga, foreign }: VerifyDocument): string[] {
  if (foreign === undefined) return [];
  const what =
    foreign.count === 1 ? "1 message that is no turn" : `${foreign.count} messages that are no turns`;
  return [`  beside them ${what}, which changes nothing: \`sagamesh repair ${saga}\` lists and removes such`];
}

/** How the saga stands, and that no chain tells what came after its last turn. */
function standingLines({ ok, last, standing, compared = [] }: VerifyDocument): string[] {
  const stands = standing === undefined ? [] : [`  ${standingWords(standing)}`];
  if (!ok || last === undefined) return stands;
  return [
    ...stands,
    `  last turn ${last}`,
    `  turns after it that were taken away show only in what names them: ${compared.length === 0 ? "nothing was there to compare with" : `none is named by ${compared.join(", ")}`}; --expect with the last turn tells surely`,
  ];
}

function standingWords({
  status,
  endedIn,
  open,
  openCount,
}: NonNullable<VerifyDocument["standing"]>): string {
  const [first] = open;
  const more = openCount > 1 ? `, and ${openCount - 1} more` : "";
  const opened =
    first === undefined
      ? ""
      : `${first.intent} (${first.what}) is open since ${new Date(first.since).toISOString()}${more}`;
  if (endedIn === undefined) return `not ended: ${opened || "nothing is open"}`;
  return `ended in turn ${endedIn}: ${status}${opened === "" ? "" : `; ${opened}`}`;
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
