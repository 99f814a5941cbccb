import { type IntentId, parseIntentId } from "../../../protocol/ids.ts";
import type { WhyDocument, WhySentence } from "../../../protocol/documents/why.ts";
import type { App } from "../../app/app.ts";
import { keeping, type ReadUpTo } from "../../views/up-to.ts";
import { tellWhy, type WhyHead, whyOf } from "../../views/why/why.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { systemClock } from "../../runtime/system.ts";
import { defineCommand } from "../frame/command.ts";
import { dateOf } from "../telling/describe.ts";
import { momentHelp, momentHint, upToMoment } from "../frame/moment.ts";
import type { Output } from "../frame/output.ts";
import { archiveOption, sagaPositional, withSaga } from "../frame/saga-source.ts";
import { inPieces } from "../../wire/loop.ts";

/** The story of a saga, or of one intent. */
export const why = defineCommand({
  name: "why",
  summary: "tell a saga's story: what was decided on what, what it cost, who allowed it, what it waited for",
  details:
    "In plain words, from the ledger alone: no sentence says more than it proves. With INTENT, the story of that one:\n" +
    "what it was decided on, who let it through, its attempts, and what was decided from its result.\n" +
    "With --app the ledger is folded: outcomes are exact, and what a decision was told is its very message.",
  positionals: { saga: sagaPositional, intent: { help: "an intent's id, for example 4-0", optional: true } },
  options: {
    at: { type: "string", hint: momentHint, help: momentHelp },
    app: { type: "string", hint: "FILE", help: "application file, to fold the ledger with its definition" },
    archive: archiveOption,
  },
  examples: ["sagamesh why hire-41", "sagamesh why hire-41 4-0 --app app.ts"],
  run: async ({ intent: word, at, app: file, ...which }, context) => {
    const intent: IntentId | undefined = word === undefined ? undefined : parseIntentId(word);
    const app = file === undefined ? undefined : await loadApp(file);
    return withSaga(context, which, async ({ saga, source, viewing }) => {
      const read = upToMoment(source, saga, at, systemClock.now());
      if (intent === undefined) await tellStory(context.output, read, app);
      else {
        const { turns } = (await read(keeping)).taker;
        const document = await inPieces(source.loop, whyOf(turns, { intent, viewing, app }));
        context.output.print(document, () => describe(document));
      }
      return 0;
    });
  },
});

/** For a person as it is told, for a program as one document. */
async function tellStory(output: Output, read: ReadUpTo, app: App | undefined): Promise<void> {
  const all: WhySentence[] = [];
  let head: WhyHead | undefined;
  let before: WhySentence | undefined;
  const sum = await tellWhy(read, app, {
    begin: (begun) => {
      head = begun;
      if (!output.json) output.print(undefined, () => `${headLine(begun)}\n`);
    },
    say: (sentences) => {
      if (output.json) all.push(...sentences);
      else if (sentences.length > 0) {
        const former = before;
        output.print(undefined, () => linesOf(sentences, former).join("\n"));
      }
      before = sentences.at(-1) ?? before;
    },
  });
  if (!output.json) output.print(undefined, () => ["", ...sumLines(sum)].join("\n"));
  else output.print({ ...head, sentences: all, sum } satisfies Partial<WhyDocument>, () => "");
}

function describe({ sentences, sum, ...head }: WhyDocument): string {
  return [headLine(head), "", ...linesOf(sentences, undefined), "", ...sumLines(sum)].join("\n");
}

function headLine({
  saga,
  intent,
  definition,
  status,
  turns,
}: Omit<WhyDocument, "sentences" | "sum">): string {
  const of = intent === undefined ? "" : `, intent ${intent}`;
  return `${saga}${of}: ${definition.name}@${definition.version}, ${status}, ${turns} turns`;
}

const linesOf = (sentences: readonly WhySentence[], former: WhySentence | undefined): string[] =>
  sentences.map((sentence, k) => `${headOf(sentence, sentences[k - 1] ?? former)}${sentence.text}`);

const sumLines = (sum: readonly WhySentence[]): string[] => [
  "in sum:",
  ...sum.map(({ text }) => `  ${text}`),
];

const headOf = ({ turn, at }: WhySentence, before: WhySentence | undefined): string =>
  before?.turn === turn ? "  " : `#${turn}  ${dateOf(at)}\n  `;
