import { MeshError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import type { TraceDocument } from "../../../protocol/documents/trace.ts";
import type { UnreadableSaga } from "../../../protocol/documents/unreadable.ts";
import { traceIdOf } from "../../../protocol/trace.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { openOnce, exportTraces, receiverOf } from "../../runtime/run-traces.ts";
import { systemChance, systemClock } from "../../runtime/system.ts";
import { type PagesOf, spansOfTree } from "../../runtime/trace-tree.ts";
import { ledgerInPages } from "../../views/view.ts";
import type { Span } from "../../traces/spanning.ts";
import { defineCommand } from "../frame/command.ts";
import { type CommandContext, withMesh } from "../frame/context.ts";
import { archiveOption, sagaPositional, type SagaSource, withSaga } from "../frame/saga-source.ts";
import { traceText } from "../telling/trace-text.ts";

/** The spans of a tree of sagas, shown or sent; or those of all sagas, sent as they end. */
export const trace = defineCommand({
  name: "trace",
  summary: "show a saga and those below it as spans, or send them to an OpenTelemetry receiver",
  details:
    "From the ledgers alone, also long after: what lasted how long, how it ended, what it used. The ids are made of the\n" +
    "ledger, so the same saga sent twice, or by two, is the same trace. Only what is over is sent.\n" +
    "Nothing of what people, models and tools said is in it, unless --content is given.\n" +
    "With --follow it goes on: whatever ends on any ledger is sent, from where the last one came to (--place). Without --otlp\n" +
    "it goes where OTEL_EXPORTER_OTLP_ENDPOINT says; OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME and\n" +
    "OTEL_RESOURCE_ATTRIBUTES are heeded, too. OTLP over HTTP, as JSON.",
  positionals: { saga: { ...sagaPositional, optional: true } },
  options: {
    otlp: { type: "string", hint: "URL", help: "send the spans there, for example http://localhost:4318" },
    follow: { type: "boolean", help: "send what ends on any ledger, until it is stopped" },
    content: {
      type: "boolean",
      help: "with what was said: messages, arguments, results, reasons, names of people",
    },
    place: {
      type: "string",
      hint: "FILE",
      paths: "files",
      help: "with --follow: keeps up to where it was sent; else a file of the data folder",
    },
    archive: archiveOption,
  },
  examples: [
    "sagamesh trace hire-41",
    "sagamesh trace hire-41 --otlp http://localhost:4318",
    "sagamesh trace --follow --otlp http://localhost:4318",
  ],
  run: async ({ saga, otlp, follow, content, place, archive }, context) => {
    if (follow) {
      if (saga !== undefined || archive !== undefined)
        throw new MeshError("USAGE", "trace: --follow is of all sagas of a mesh; leave the saga out");
      return followAll(context, { otlp, content, place });
    }
    if (saga === undefined) throw new MeshError("USAGE", "trace: name a saga, or --follow");
    if (place !== undefined) throw new MeshError("USAGE", "trace: --place is for --follow");
    const endpoint = otlp === undefined ? undefined : receiverOf(context.config, otlp);
    return withSaga(context, { saga, archive }, async (found) => {
      const receiver = { ...receiving(context), clock: systemClock, chance: systemChance };
      const batches = endpoint === undefined ? undefined : openOnce(receiver, endpoint);
      const shown = await showTree(context, found, { content, send: batches?.add });
      await batches?.flush();
      return tellSum(context, found.saga, { ...shown, exported: batches?.taken() });
    });
  },
});

const receiving = ({ config, output, signal }: CommandContext) => ({ config, signal, report: output.note });

async function followAll(
  context: CommandContext,
  { otlp, content, place }: { otlp: string | undefined; content: boolean; place: string | undefined },
): Promise<number> {
  const endpoint = receiverOf(context.config, otlp);
  return withMesh(context, async ({ ports, deps: { clock, chance } }) => {
    context.output.note("sends the spans of what ends from now on, or from where it was stopped");
    await exportTraces({ ...receiving(context), clock, chance }, { ports, endpoint, content, place });
    return 0;
  });
}

interface Shown {
  /** Empty where they were printed or sent as they were read. */
  readonly spans: readonly Span[];
  readonly counts: { readonly over: number; readonly open: number };
  readonly traceId: string;
  readonly unreadable: readonly UnreadableSaga[];
}

/** With --json a line for each span as it is read. For people the whole is drawn at the end; where it is sent, nothing is kept. */
async function showTree(
  { output }: CommandContext,
  found: SagaSource,
  { content, send }: { content: boolean; send: ((spans: readonly Span[]) => Promise<void>) | undefined },
): Promise<Shown> {
  const spans: Span[] = [];
  const unreadable: UnreadableSaga[] = [];
  const counts = { over: 0, open: 0 };
  let traceId: string | undefined;
  for await (const part of spansOfTree(found.saga, pagesOf(found), { content })) {
    if (part.type === "unreadable") {
      unreadable.push(part.saga);
      continue;
    }
    traceId ??= part.spans[0]?.traceId;
    counts[part.type] += part.spans.length;
    if (send !== undefined) await send(part.spans);
    else if (output.json) for (const span of part.spans) output.print(span, () => "");
    else for (const span of part.spans) spans.push(span);
  }
  return { spans, counts, unreadable, traceId: traceId ?? traceIdOf(found.saga) };
}

const pagesOf = (found: SagaSource): PagesOf =>
  async function* (saga: SagaId): AsyncGenerator<Turn[]> {
    const { source } = saga === found.saga ? found : await found.find(saga);
    for await (const page of ledgerInPages(source, saga)) {
      yield page.map(({ turn }) => turn);
      await source.loop?.breathe();
    }
  };

function tellSum(
  { output }: CommandContext,
  saga: SagaId,
  shown: Shown & { readonly exported: number | undefined },
): number {
  const { spans, unreadable, counts, exported, traceId } = shown;
  const document: TraceDocument = {
    trace: {
      ...{ saga, traceId, spans: counts.over, open: counts.open, unreadable: [...unreadable] },
      ...(exported === undefined ? {} : { exported }),
    },
  };
  output.print(document, () =>
    exported === undefined
      ? traceText(spans, document)
      : `${exported} spans of trace ${traceId} were taken${counts.open > 0 ? `; ${counts.open} are not over` : ""}`,
  );
  return unreadable.length > 0 ? 1 : 0;
}
