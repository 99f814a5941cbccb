import {
  type LetterDocument,
  type LetterDoneDocument,
  RetriedRow,
} from "../../../protocol/documents/letter.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { retrying } from "../../bulk/retry.ts";
import {
  dropLetter,
  type Letter,
  readLetter,
  readLetters,
  retryLetter,
  sagaOfLetter,
} from "../../client/dead.ts";
import { defineCommand } from "../frame/command.ts";
import { type CommandContext, type CommandMesh, withMesh } from "../frame/context.ts";
import { dateOf } from "../telling/describe.ts";
import { table } from "../frame/table.ts";
import { actOn, meantOptions, sagasMeant } from "./meant.ts";
import { indexUrlOption, withTables } from "./query.ts";

const actions = ["ls", "show", "retry", "drop"] as const;
type Action = (typeof actions)[number];

interface Which {
  readonly letter: string | undefined;
  readonly all: boolean;
  readonly code: string | undefined;
  readonly query: string | undefined;
}

/** What was set aside, and why. */
export const dead = defineCommand({
  name: "dead",
  summary: "dead letters: list them, show one, send again, throw away",
  details:
    "A letter is a message that no host or worker could take: the message, the reason and where it was sent.\n" +
    "retry sends it again as it was, under its old event id, so a saga that has it already takes it as known.\n" +
    "With --query the letters of the sagas that it means; they are listed, and sent again with --yes. One that cannot be is told, and\n" +
    "hides no other; exit code 1 then.",
  positionals: {
    action: { help: "ls, show, retry or drop", choices: actions },
    letter: { help: "the letter's number", optional: true },
  },
  options: {
    all: { type: "boolean", help: "with retry or drop: every letter" },
    code: {
      type: "string",
      hint: "CODE",
      help: "with ls, --all or --query: only letters with this reason's code",
    },
    ...meantOptions,
    url: indexUrlOption,
  },
  examples: [
    "sagamesh dead ls",
    "sagamesh dead retry 17",
    "sagamesh dead drop --all --code BAD_MESSAGE",
    "sagamesh dead retry --query 'agent=hire and status=running' --yes",
  ],
  run: async ({ action: word, yes, url, ...which }, context) => {
    const action = readAction(word, which);
    if ((yes || url !== undefined) && which.query === undefined)
      throw new MeshError("USAGE", "dead: --yes and --url are for --query");
    if (which.query !== undefined)
      return retryMeant(withTables(context, url), which.query, { yes, code: which.code });
    return withMesh(context, async (mesh) => {
      const { output } = context;
      const letters = await chosen(mesh, which);
      if (action === "show") {
        const document = letterDocument(letters[0]!, true);
        output.print(document, () => describe(document));
      } else if (action === "ls") {
        const documents = letters.map((letter) => letterDocument(letter, false));
        if (output.json) for (const document of documents) output.print(document, () => "");
        else output.print(undefined, () => list(documents));
      } else
        for (const letter of letters) {
          await (action === "retry" ? retryLetter : dropLetter)(mesh.deps, letter);
          const done = action === "retry" ? "retried" : "dropped";
          const document: LetterDoneDocument = { letter: letter.seq, done, subject: letter.subject };
          output.print(document, () => `letter ${letter.seq} ${done}: ${letter.subject}`);
        }
      return 0;
    });
  },
});

/** What was set aside of the sagas that are meant, one after the other. */
async function retryMeant(
  context: CommandContext,
  query: string,
  { yes, code }: { readonly yes: boolean; readonly code: string | undefined },
): Promise<number> {
  const { output, signal } = context;
  const meant = await sagasMeant(context, "dead", query);
  const told = await withMesh(context, async ({ deps }) =>
    (await actOn(retrying(deps, { code }), meant, { yes, signal })).map(({ is, ...row }) =>
      RetriedRow.parse({ ...row, sent: is === "done" ? "retried" : is }),
    ),
  );
  if (output.json) for (const row of told) output.print(row, () => "");
  else output.print(undefined, () => retriedText(told, yes));
  return told.some(({ sent }) => sent === "refused") ? 1 : 0;
}

function retriedText(rows: readonly RetriedRow[], yes: boolean): string {
  if (rows.length === 0) return "nothing of the sagas that are meant was set aside";
  const letters = `${rows.length} letter${rows.length === 1 ? "" : "s"}`;
  const lines = rows.map(({ letter, saga, sent, what, because }) => [
    ...[String(letter), saga, sent, because ?? what],
  ]);
  return `${table(["LETTER", "SAGA", "SENT AGAIN", "WHY"], lines)}\n${yes ? letters : `${letters} would be sent again; --yes does it`}`;
}

function readAction(word: string, { letter, all, code, query }: Which): Action {
  const action = actions.find((one) => one === word);
  const usage = (what: string) =>
    new MeshError("USAGE", `dead: ${what}`, { remedy: "See sagamesh dead --help." });
  if (action === undefined) throw usage(`expected ls, show, retry or drop, got "${word}"`);
  if (letter !== undefined && !/^[1-9]\d{0,14}$/.test(letter))
    throw usage(`"${letter}" is no letter's number`);
  if (query !== undefined && (action !== "retry" || all || letter !== undefined))
    throw usage("--query goes with retry, and with no number");
  const takesMany = action === "ls" || all || query !== undefined;
  if (action === "show" && all) throw usage("show shows one letter");
  if (takesMany && letter !== undefined) throw usage(`${action} takes no number${all ? " with --all" : ""}`);
  if (!takesMany && letter === undefined) throw usage(`${action} needs a letter's number, or --all`);
  if (!takesMany && code !== undefined) throw usage("--code goes with ls or --all");
  return action;
}

async function chosen(
  { deps }: CommandMesh,
  { letter, code }: Pick<Which, "letter" | "code">,
): Promise<Letter[]> {
  if (letter !== undefined) return [await readLetter(deps, Number(letter))];
  return (await readLetters(deps)).filter((one) => code === undefined || one.code === code);
}

function letterDocument(letter: Letter, isWhole: boolean): LetterDocument {
  const { seq, source, subject, code, reason, at } = letter;
  const saga = sagaOfLetter(letter);
  return {
    letter: seq,
    ...{ source, subject, code, reason, at },
    ...(saga === undefined ? {} : { saga }),
    ...(isWhole ? { headers: letter.headers, body: Buffer.from(letter.data).toString() } : {}),
  };
}

function list(documents: readonly LetterDocument[]): string {
  if (documents.length === 0) return "nothing was set aside";
  const rows = documents.map(({ letter, at, code, subject, reason }) => [
    String(letter),
    dateOf(at),
    code,
    subject,
    reason.replace(/^\[\w+\] /, "").slice(0, 100),
  ]);
  return table(["LETTER", "AT", "CODE", "SENT TO", "REASON"], rows);
}

const describe = ({ letter, subject, at, reason, headers: fields, body }: LetterDocument): string =>
  [
    `letter ${letter}  ${subject}  ${dateOf(at)}`,
    reason,
    ...Object.entries(fields ?? {}).map(([name, value]) => `  ${name}: ${value}`),
    body ?? "",
    `sagamesh dead retry ${letter} sends it again, sagamesh dead drop ${letter} throws it away`,
  ].join("\n");
