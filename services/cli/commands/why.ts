import { type IntentId, parseIntentId } from "../../../protocol/ids.ts";
import type { WhyDocument, WhySentence } from "../../../protocol/documents/why.ts";
import type { App } from "../../app/app.ts";
import type { ReadUpTo } from "../../views/up-to.ts";
import { tellWhy, whyIntent } from "../../views/why/why.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { systemClock } from "../../runtime/system.ts";
import { defineCommand } from "../frame/command.ts";
import { dateOf } from "../telling/describe.ts";
import { momentHelp, momentHint, upToMoment } from "../frame/moment.ts";
import type { Output } from "../frame/output.ts";
import { archiveOption, sagaPositional, withSaga } from "../frame/saga-source.ts";

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
    return withSaga(context, which, async ({ saga, source }) => {
      const read = upToMoment(source, saga, at, systemClock.now());
      if (intent === undefined) await tellStory(context.output, read, app);
      else {
        const document = await whyIntent(read, app, intent);
        context.output.print(document, () => describe(document));
      }
      return 0;
    });
  },
});

/** The story is told before it is known how it begins: how the saga stands is its first line. */
async function tellStory(output: Output, read: ReadUpTo, app: App | undefined): Promise<void> {
  if (output.json) {
    const { head, listener, sum } = await tellWhy(read, app, hearing);
    return output.print(
      { ...head, sentences: listener.sentences, sum } satisfies Partial<WhyDocument>,
      () => "",
    );
  }
  const { head, listener, sum } = await tellWhy(read, app, writing);
  output.print(undefined, () => `${headLine(head)}\n`);
  for (const text of listener.texts()) output.print(undefined, () => text);
  output.print(undefined, () => ["", ...sumLines(sum)].join("\n"));
}

function hearing() {
  const sentences: WhySentence[] = [];
  return { sentences, say: (some: readonly WhySentence[]) => void sentences.push(...some) };
}

/** As many lines as are one piece of text: a hundred thousand turns have as many sentences, which as bytes take little. */
const linesAtOnce = 1_000;

function writing() {
  const written: Buffer[] = [];
  let lines: string[] = [];
  let before: WhySentence | undefined;
  const write = () => {
    if (lines.length > 0) written.push(Buffer.from(lines.join("\n")));
    lines = [];
  };
  return {
    say: (sentences: readonly WhySentence[]) => {
      for (const line of linesOf(sentences, before)) lines.push(line);
      before = sentences.at(-1) ?? before;
      if (lines.length >= linesAtOnce) write();
    },
    *texts() {
      write();
      for (const text of written) yield text.toString();
    },
  };
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
