/** `node dbos-process.ts POSTGRES_URL` runs the workflows, and starts and signals them. */
import { load, mark, newId, now, prose, serve, step, together } from "./measured.ts";

const { DBOS } = load("@dbos-inc/dbos-sdk");
DBOS.setConfig({
  name: "bench",
  systemDatabaseUrl: process.argv[2],
  logLevel: "error",
  applicationVersion: "1",
});

const forEver = { timeoutSeconds: 1_000_000 };

const steps = DBOS.registerWorkflow(
  async (saga: string, count: number, ms: number, stays: boolean) => {
    const one = () => DBOS.runStep(() => step(saga, ms), { name: "step" });
    for (let n = 0; n < count; n++) await one();
    if (!stays) return;
    for (;;) {
      await DBOS.recv("more", forEver);
      await one();
    }
  },
  { name: "steps" },
);

const fan = DBOS.registerWorkflow(
  async (saga: string, width: number) => {
    const one = (n: number) => DBOS.runStep(async () => mark(`${saga}-${n}`), { name: "step" });
    await together(width, one);
  },
  { name: "fan" },
);

const talk = DBOS.registerWorkflow(
  async (saga: string, decisions: number, chars: number) => {
    const messages: { role: string; content: string }[] = [];
    for (let n = 0; n < decisions; n++) {
      const model = async () => {
        mark(saga);
        return prose(2 * n, chars);
      };
      messages.push({ role: "assistant", content: await DBOS.runStep(model, { name: "model" }) });
      const tool = async () => prose(2 * n + 1, chars);
      messages.push({ role: "tool", content: await DBOS.runStep(tool, { name: "tool" }) });
    }
    return messages.length;
  },
  { name: "talk" },
);

const start = (
  workflow: unknown,
  id: string,
  ...words: unknown[]
): Promise<{ getResult(): Promise<unknown> }> =>
  DBOS.startWorkflow(workflow, { workflowID: id })(id, ...words);
const toEnd = async (workflow: unknown, id: string, ...words: unknown[]): Promise<void> => {
  const handle = await start(workflow, id, ...words);
  await handle.getResult();
};

await DBOS.launch();
serve({
  run: ({ sagas, steps: count }) =>
    together(sagas, () => toEnd(steps, newId("s"), count, 0, false)).then(() => undefined),
  launch: ({ sagas, steps: count, ms }) =>
    together(sagas, () => start(steps, newId("l"), count, ms, false)).then(() => undefined),
  rest: ({ saga, steps: count }) => start(steps, saga, count, 0, true).then(() => undefined),
  signal: async ({ saga }) => {
    const at = now();
    await DBOS.send(saga, "go", "more");
    return at;
  },
  fan: ({ width }) => toEnd(fan, newId("f"), width),
  talk: ({ saga, decisions, chars }) => toEnd(talk, saga, decisions, chars),
});
