/** `node langgraph-process.ts sqlite|postgres WHERE SYNC` runs the graphs, and starts and resumes them. */
import { load, mark, newId, now, prose, serve, step, together } from "./measured.ts";

const [kind = "", where = "", sync = ""] = process.argv.slice(2);
const graphs = load("@langchain/langgraph");
const { Annotation, Command, END, interrupt, MessagesAnnotation, Send, START, StateGraph } = graphs;

async function openCheckpointer(): Promise<unknown> {
  if (kind === "sqlite") {
    const saver = load("@langchain/langgraph-checkpoint-sqlite").SqliteSaver.fromConnString(where);
    saver.db.pragma(`synchronous=${sync === "always" ? "FULL" : "NORMAL"}`);
    return saver;
  }
  const saver = load("@langchain/langgraph-checkpoint-postgres").PostgresSaver.fromConnString(where);
  await saver.setup();
  return saver;
}

const checkpointer = await openCheckpointer();

const StepsState = Annotation.Root({
  ...{ saga: Annotation(), left: Annotation(), ms: Annotation(), stays: Annotation() },
});
const steps = new StateGraph(StepsState)
  .addNode("step", async ({ saga, left, ms }: { saga: string; left: number; ms: number }) => {
    await step(saga, ms);
    return { left: left - 1 };
  })
  .addNode("wait", () => {
    interrupt("more");
    return { left: 1 };
  })
  .addEdge(START, "step")
  .addConditionalEdges(
    "step",
    ({ left, stays }: { left: number; stays: boolean }) => (left > 0 ? "step" : stays ? "wait" : END),
    ["step", "wait", END],
  )
  .addEdge("wait", "step")
  .compile({ checkpointer });

const FanState = Annotation.Root({
  ...{ saga: Annotation(), width: Annotation(), n: Annotation() },
  done: Annotation({ reducer: (a: number, b: number) => a + b, default: () => 0 }),
});
const fan = new StateGraph(FanState)
  .addNode("one", ({ saga, n }: { saga: string; n: number }) => {
    mark(`${saga}-${n}`);
    return { done: 1 };
  })
  .addNode("join", () => ({}))
  .addConditionalEdges(
    START,
    ({ saga, width }: { saga: string; width: number }) =>
      Array.from({ length: width }, (_, n) => new Send("one", { saga, n })),
    ["one"],
  )
  .addEdge("one", "join")
  .addEdge("join", END)
  .compile({ checkpointer });

interface Talk {
  readonly saga: string;
  readonly messages: readonly unknown[];
  readonly decisions: number;
  readonly chars: number;
}
const TalkState = Annotation.Root({
  ...{ ...MessagesAnnotation.spec, saga: Annotation(), decisions: Annotation(), chars: Annotation() },
});
const talk = new StateGraph(TalkState)
  .addNode("model", ({ saga, messages, chars }: Talk) => {
    mark(saga);
    return { messages: [{ role: "assistant", content: prose(messages.length, chars) }] };
  })
  .addNode("tool", ({ messages, chars }: Talk) => ({
    messages: [{ role: "user", content: prose(messages.length, chars) }],
  }))
  .addEdge(START, "model")
  .addEdge("model", "tool")
  .addConditionalEdges(
    "tool",
    ({ messages, decisions }: Talk) => (messages.length < 2 * decisions ? "model" : END),
    ["model", END],
  )
  .compile({ checkpointer });

const configOf = (saga: string) => ({
  configurable: { thread_id: saga },
  recursionLimit: 10_000_000,
  durability: sync === "always" ? "sync" : "async",
});
const begin = (saga: string, count: number, ms: number, stays: boolean): Promise<unknown> =>
  steps.invoke({ saga, left: count, ms, stays }, configOf(saga));
/** What goes on by itself here ends with the process, in the middle. */
const unawaited = (runs: Promise<unknown>): void => void runs.catch((error: unknown) => console.error(error));

serve({
  run: ({ sagas, steps: count }) =>
    together(sagas, () => begin(newId("s"), count, 0, false)).then(() => undefined),
  launch: ({ sagas, steps: count, ms }) =>
    unawaited(together(sagas, (n) => begin(`l-${n}`, count, ms, false))),
  again: ({ sagas }) => unawaited(together(sagas, (n) => steps.invoke(null, configOf(`l-${n}`)))),
  rest: ({ saga, steps: count }) => unawaited(begin(saga, count, 0, true)),
  signal: ({ saga }) => {
    const at = now();
    unawaited(steps.invoke(new Command({ resume: true }), configOf(saga)));
    return at;
  },
  fan: async ({ width }) => {
    const saga = newId("f");
    const { done } = await fan.invoke({ saga, width }, configOf(saga));
    if (done !== width) throw new Error(`${done} of ${width} were joined`);
  },
  talk: async ({ saga, decisions, chars }) => {
    await talk.invoke({ saga, decisions, chars, messages: [] }, configOf(saga));
  },
});
