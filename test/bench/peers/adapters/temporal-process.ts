/** `node temporal-process.ts app ADDRESS WORKFLOWS` runs the workflows; `client ADDRESS` starts, waits and signals. */
import { load, mark, newId, now, prose, serve, step, together } from "./measured.ts";

const [role = "", address = "", workflowsPath = ""] = process.argv.slice(2);
const taskQueue = "bench";

async function beApp(): Promise<void> {
  const { DefaultLogger, NativeConnection, Runtime, Worker } = load("@temporalio/worker");
  Runtime.install({ logger: new DefaultLogger("ERROR") });
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address }),
    taskQueue,
    workflowsPath,
    activities: {
      doStep: step,
      decide: async (saga: string, n: number, chars: number) => {
        mark(saga);
        return prose(2 * n, chars);
      },
      look: async (n: number, chars: number) => prose(2 * n + 1, chars),
    },
    maxConcurrentActivityTaskExecutions: 1_000,
    shutdownGraceTime: "1 second",
  });
  worker.run().then(
    () => process.exit(),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
  serve({});
}

async function beClient(): Promise<void> {
  const { Client, Connection } = load("@temporalio/client");
  const { workflow } = new Client({ connection: await Connection.connect({ address }) });
  const start = (name: string, workflowId: string, ...args: unknown[]) =>
    workflow.start(name, { taskQueue, workflowId, args });
  const toEnd = (name: string, workflowId: string, ...args: unknown[]) =>
    workflow.execute(name, { taskQueue, workflowId, args });
  serve({
    run: ({ sagas, steps }) =>
      together(sagas, () => toEnd("steps", newId("s"), steps, 0, false)).then(() => undefined),
    launch: ({ sagas, steps, ms }) =>
      together(sagas, () => start("steps", newId("l"), steps, ms, false)).then(() => undefined),
    rest: ({ saga, steps }) => start("steps", saga, steps, 0, true).then(() => undefined),
    signal: async ({ saga }) => {
      const at = now();
      await workflow.getHandle(saga).signal("more");
      return at;
    },
    fan: ({ width }) => toEnd("fan", newId("f"), width),
    talk: ({ saga, decisions, chars }) => toEnd("talk", saga, decisions, chars),
  });
}

if (role === "app") await beApp();
else await beClient();
